import tseslint from 'typescript-eslint'

// Real time, timers, randomness and the file system live in `system/` and `storage/` (and in the
// composition roots that hand them on). Everything else receives them, so a seeded run can replay it.
const OUTSIDE_WORLD = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Use the Clock port.',
  },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Use the Clock port.' },
  {
    selector: 'CallExpression[callee.name=/^(setTimeout|setInterval|setImmediate)$/]',
    message: 'Use the Clock port.',
  },
  {
    selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
    message: 'Use the Random port.',
  },
  {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'Read the environment in a main.ts.',
  },
]
const FS_IMPORTS = {
  patterns: [
    { regex: '^(node:)?fs(/promises)?$', message: 'The file system belongs to system/ and storage/.' },
  ],
}

export default tseslint.config(
  { ignores: ['dist', 'node_modules', '.clients', 'coverage'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { arguments: false, attributes: false } },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      'no-restricted-properties': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
    },
  },
  {
    files: [
      'src/contracts/**/*.ts',
      'src/ports/**/*.ts',
      'src/modules/**/*.ts',
      'src/kernel/**/*.ts',
      'src/facades/**/*.ts',
      'src/transports/**/*.ts',
      'src/hub/**/*.ts',
      'src/daemon/**/*.ts',
      'adapters/**/*.ts',
    ],
    ignores: ['**/main.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...OUTSIDE_WORLD],
      'no-restricted-imports': ['error', FS_IMPORTS],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    // What a run measured is printed for people to read.
    rules: { '@typescript-eslint/no-non-null-assertion': 'off', 'no-console': 'off' },
  },
)
