import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'src/generated', 'tests/consumer'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ['eslint.config.js'] } } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // The contract sets the message in each reply, and the order of statements sets what an index or a key finds.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // The caller knows the type.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  // It is no part of the program that is type-checked.
  { files: ['eslint.config.js'], extends: [tseslint.configs.disableTypeChecked] },
);
