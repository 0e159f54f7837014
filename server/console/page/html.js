// Elements without a compile step: `html` is what JSX would be.

import { h } from './vendor/preact.js';
import htm from './vendor/htm.js';

export { render } from './vendor/preact.js';
export { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from './vendor/hooks.js';

export const html = htm.bind(h);

/** Class names, without those that are off. @param {...(string | false | null | undefined)} names */
export const classes = (...names) => names.filter(Boolean).join(' ');
