import js from '@eslint/js';
import globals from 'globals';

export default [
  { ignores: ['**/built/**'] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2025, sourceType: 'module', globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      curly: ['error', 'multi-line'],
      eqeqeq: 'error',
      'max-len': ['error', { code: 120, ignoreUrls: true, ignoreTemplateLiterals: true }],
      'max-lines': ['error', 500],
      'max-lines-per-function': ['error', { max: 160, skipBlankLines: true, skipComments: true }],
      'no-control-regex': 'off', // text is cleaned of control characters
      'no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
      'no-use-before-define': ['error', { functions: false, classes: false, variables: false }],
      'no-var': 'error',
      'object-shorthand': 'error',
      'one-var': ['error', 'never'],
      'prefer-const': 'error',
      'prefer-template': 'error',
    },
  },
  { files: ['tools/**'], languageOptions: { globals: globals.node } },
  // tables of cases
  { files: ['tests/memory_stage/js/**'], languageOptions: { globals: globals.node }, rules: { 'max-len': 'off' } },
  {
    // functions that tests call in a page, loaded as classic scripts
    files: ['tests/support/{site,web}/*.js'],
    languageOptions: {
      sourceType: 'script',
      globals: { memoryFigures: 'readonly', memoryStage: 'readonly', faultsOf: 'writable', noted: 'readonly' },
    },
    rules: { 'no-unused-vars': ['error', { vars: 'local' }], 'no-redeclare': 'off' },
  },
];
