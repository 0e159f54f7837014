// The page's frame: who is there, where one is, and what the connection does.

import { about as askAbout, hasToken, setToken } from './api.js';
import { useLive } from './context.js';
import { classes, html, render, useEffect, useRef, useState } from './html.js';
import { Live } from './live.js';
import { Problem } from './parts/states.js';
import { preferences, setLanguage, setTheme } from './preferences.js';
import { Remaining } from './remaining.js';
import { link, read } from './route.js';
import { Elections } from './screens/elections.js';
import { Events } from './screens/events.js';
import { GroupScreen, Groups } from './screens/groups.js';
import { LockScreen } from './screens/lock.js';
import { Locks } from './screens/locks.js';
import { Overview } from './screens/overview.js';
import { SessionScreen, Sessions } from './screens/sessions.js';
import { t } from './text.js';

/** @typedef {import('./text.js').Key} Key */

/** Each screen; those with a `name` are about one thing, below another screen. @type {Record<string, { title: Key, show: any, above?: string }>} */
const SCREENS = {
  overview: { title: 'overview', show: Overview },
  locks: { title: 'locks', show: Locks },
  lock: { title: 'lock', show: LockScreen, above: 'locks' },
  elections: { title: 'elections', show: Elections },
  groups: { title: 'groups', show: Groups },
  group: { title: 'group', show: GroupScreen, above: 'groups' },
  sessions: { title: 'sessions', show: Sessions },
  session: { title: 'session', show: SessionScreen, above: 'sessions' },
  events: { title: 'events', show: Events },
};

/** How often it is looked whether the server has started, in milliseconds. */
const AGAIN = 1000;

function App() {
  const [about, setAbout] = useState(/** @type {import('./types.js').About | null} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [signedIn, setSignedIn] = useState(false);
  const [wrong, setWrong] = useState('');
  const [, drawAnew] = useState(0);
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const ask = async () => {
      try {
        const told = await askAbout();
        setProblem(null);
        setAbout(told);
        if (told.access !== 'starting') return;
      } catch (error) {
        setProblem(error);
      }
      timer = setTimeout(ask, AGAIN);
    };
    ask();
    return () => clearTimeout(timer);
  }, []);
  const signOut = (/** @type {string} */ why) => {
    setToken('');
    setWrong(why);
    setSignedIn(false);
  };
  const frame = { about, redraw: () => drawAnew((count) => count + 1) };
  if (!about || about.access === 'starting') {
    return html`<${Plain} ...${frame} title=${t('starting')}>
      ${problem ? html`<${Problem} error=${problem} />` : html`<p role="status">${t('loading')}</p>`}
    <//>`;
  }
  if (about.access === 'closed') {
    return html`<${Plain} ...${frame} title=${t('closed')}><p class="notice">${about.why?.message}</p><//>`;
  }
  if (about.access === 'token' && !signedIn) {
    return html`<${Plain} ...${frame} title=${t('sign_in')}
      ><${SignIn} wrong=${wrong} done=${() => setSignedIn(true)}
    /><//>`;
  }
  return html`<${Connected} ...${frame} signOut=${signOut} />`;
}

/** @param {{ about: any, redraw: () => void, title: string, children?: any }} props */
const Plain = ({ redraw, title, children }) =>
  html`<div class="alone">
    <header class="alone-head"><${Brand} /><${Preferences} redraw=${redraw} /></header>
    <main class="alone-main">
      <h1>${title}</h1>
      ${children}
    </main>
  </div>`;

const Brand = () => html`<span class="brand"><img src="icon.svg" width="22" height="22" alt="" />Tenure</span>`;

/** @param {{ wrong: string, done: () => void }} props */
function SignIn({ wrong, done }) {
  const [shown, setShown] = useState('');
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!shown.trim()) return;
    setToken(shown.trim());
    done();
  };
  return html`<form class="sign-in" onSubmit=${submit}>
    <p>${t('sign_in_why')}</p>
    <label
      >${t('token_label')}
      <input
        type="password"
        autocomplete="off"
        value=${shown}
        aria-describedby="token-kept"
        aria-invalid=${wrong !== ''}
        onInput=${(/** @type {any} */ event) => setShown(event.target.value)}
      />
    </label>
    <p class="dim" id="token-kept">${t('token_kept')}</p>
    ${wrong && html`<p class="problem" role="alert">${wrong}</p>`}
    <button type="submit" class="primary">${t('sign_in')}</button>
  </form>`;
}

/** @param {{ about: import('./types.js').About, redraw: () => void, signOut: (why: string) => void }} props */
function Connected({ about, redraw, signOut }) {
  const [route, setRoute] = useState(() => read(location.hash));
  const [scope, setScope] = useState('');
  const [behind, setBehind] = useState(/** @type {{ live: Live, remaining: Remaining } | null} */ (null));
  const [toast, setToast] = useState('');
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const came = useRef(false);
  useEffect(() => {
    const moved = () => setRoute(read(location.hash));
    addEventListener('hashchange', moved);
    // It may have changed before this runs, which is after the page was shown.
    moved();
    return () => removeEventListener('hashchange', moved);
  }, []);
  useEffect(() => {
    const made = {
      live: new Live({ namespace: route.namespace, scope }),
      remaining: new Remaining(route.namespace),
    };
    setBehind(made);
    return () => {
      made.live.close();
      made.remaining.close();
    };
  }, [route.namespace, scope]);
  const screen = SCREENS[route.screen] ? route.screen : 'overview';
  const { title, show, above } = SCREENS[screen];
  const at = `${screen}/${route.name}`;
  useEffect(() => {
    document.title = `${route.name || t(title)} – Tenure`;
    // Whoever goes somewhere is told where they are; but not where they begin.
    if (came.current) heading.current?.focus();
    came.current = true;
  }, [at]);
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => setToast(''), 6000);
    return () => clearTimeout(timer);
  }, [toast]);
  if (!behind || behind.live.namespace !== route.namespace) return null;
  const place = {
    endpoint: about.endpoint,
    tls: about.tls,
    token: hasToken(),
    namespace: route.namespace,
  };
  const context = {
    ...behind,
    about,
    route,
    place,
    canAct: about.access === 'token',
  };
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    heading.current?.focus();
  };
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${skip}>${t('skip')}</a>
    <header class="top">
      <${Brand} />
      <span class="label" title=${t('server')}>${about.label}</span>
      <${Namespace} route=${route} />
      <span class="grow"></span>
      <${Connection} live=${behind.live} />
      <${Preferences} redraw=${redraw} />
      ${about.access === 'token' && html`<button type="button" class="quiet" onClick=${() => signOut('')}>${t('sign_out')}</button>`}
    </header>
    <nav class="side" aria-label=${t('screens')}>
      <ul>
        ${Object.entries(SCREENS)
          .filter(([, { above }]) => !above)
          .map(
            ([name, { title }]) =>
              html`<li key=${name}>
                <a href=${link(route.namespace, name)} aria-current=${name === (above ?? screen) ? 'page' : undefined}
                  ><${Icon} of=${name} />${t(title)}</a
                >
              </li>`,
          )}
      </ul>
      <p class="side-foot dim">
        ${about.access === 'readOnly' ? t('read_only') : t('signed_in')}<br />${t('version', { version: about.version })}
      </p>
    </nav>
    <main id="main" key=${screen} data-at=${at}>
      ${above && html`<p class="crumbs"><a href=${link(route.namespace, above)}>${t(SCREENS[above].title)}</a> <span aria-hidden="true">›</span></p>`}
      <h1 tabindex="-1" ref=${heading} class=${classes(above && 'mono')}>${above ? route.name : t(title)}</h1>
      <${Trouble} live=${behind.live} scope=${scope} setScope=${setScope} signOut=${signOut} />
      <${show} key=${at} context=${context} told=${setToast} />
    </main>
    <div class=${classes('toast', toast && 'on')} role="status">${toast}</div>
  </div>`;
}

/** What keeps the page from being up to date, and what can be done about it.
 * @param {{ live: Live, scope: string, setScope: (scope: string) => void, signOut: (why: string) => void }} props */
function Trouble({ live, scope, setScope, signOut }) {
  useLive(live);
  const [wanted, setWanted] = useState(scope);
  const [known, setKnown] = useState(0);
  const { state, trouble } = live;
  useEffect(() => {
    if (state === 'unauthenticated') signOut(trouble?.message ?? '');
  }, [state]);
  if (state === 'denied') {
    return html`<form
      class="notice"
      onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), setScope(wanted.trim().replace(/\/$/, '')))}
    >
      <p role="alert">${trouble?.message}</p>
      <label
        >${t('scope_label')}
        <input type="text" value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)}
      /></label>
      <button type="submit">${t('show_scope')}</button>
    </form>`;
  }
  const { cause, times } = live.startedOver;
  return html`
    ${state === 'refused' && html`<${Problem} error=${trouble} />`}
    ${state === 'reconnecting' && html`<p class="notice" role="status">${t('reconnecting_long')} ${trouble && trouble.code !== 'UNREACHABLE' ? trouble.message : ''}</p>`}
    ${times > known && html`<p class="notice" role="status">${t(cause === 'HISTORY_GONE_CAUSE_LOST' ? 'history_lost' : 'history_compacted')} <button type="button" class="quiet" onClick=${() => setKnown(times)}>${t('understood')}</button></p>`}
    ${scope && html`<p class="notice">${t('only_scope', { scope })} <button type="button" class="quiet" onClick=${() => setScope('')}>${t('show_everything')}</button></p>`}
  `;
}

/** @param {{ live: Live }} props */
function Connection({ live }) {
  useLive(live);
  const key = /** @type {Key} */ (`connection_${live.state}`);
  return html`<span class=${`connection ${live.state}`} role="status"
      ><i class="dot" aria-hidden="true"></i>${t(key)}</span
    >
    <span class="revision mono dim" title=${t('revision')}
      >${live.replica.revision === '0' ? '' : `@${live.replica.revision}`}</span
    >`;
}

/** @param {{ route: import('./route.js').Route }} props */
function Namespace({ route }) {
  const [typed, setTyped] = useState(route.namespace);
  useEffect(() => setTyped(route.namespace), [route.namespace]);
  const go = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (typed && typed !== route.namespace) location.hash = link(typed, SCREENS[route.screen]?.above ?? route.screen);
  };
  return html`<form class="namespace" onSubmit=${go}>
    <label
      ><span>${t('namespace')}</span
      ><input
        type="text"
        size="12"
        value=${typed}
        pattern="[a-z0-9\\-]{1,63}"
        spellcheck=${false}
        autocomplete="off"
        onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
        onBlur=${go}
    /></label>
  </form>`;
}

/** @param {{ redraw: () => void }} props */
function Preferences({ redraw }) {
  const language = (/** @type {any} */ event) => (setLanguage(event.target.value), redraw());
  const theme = (/** @type {any} */ event) => (setTheme(event.target.value), redraw());
  return html`<div class="preferences">
    <label
      ><span class="unseen">${t('language')}</span>
      <select value=${preferences.language} onChange=${language}>
        <option value="en" lang="en">English</option>
        <option value="ko" lang="ko">한국어</option>
      </select></label
    >
    <label
      ><span class="unseen">${t('theme')}</span>
      <select value=${preferences.theme} onChange=${theme}>
        <option value="auto">${t('theme_auto')}</option>
        <option value="light">${t('theme_light')}</option>
        <option value="dark">${t('theme_dark')}</option>
      </select></label
    >
  </div>`;
}

const ICONS = /** @type {Record<string, string>} */ ({
  overview: 'M2 9l6-6 6 6M4 8v6h8V8',
  locks: 'M4 7V5a4 4 0 0 1 8 0v2M3 7h10v7H3z',
  elections: 'M2 13h12M3 10l1-6 4 4 4-4 1 6z',
  groups: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM2 14a6 6 0 0 1 12 0',
  sessions: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 2',
  events: 'M2 4h12M2 8h12M2 12h8',
});

/** @param {{ of: string }} props */
const Icon = ({ of }) =>
  html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d=${ICONS[of]} />
  </svg>`;

setLanguage(preferences.language);
setTheme(preferences.theme);
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));
