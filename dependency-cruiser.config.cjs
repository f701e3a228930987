/**
 * Rules for imports between rooms, as in the table of ARCHITECTURE.md. A room may always import itself. Every room may
 * import npm packages, except `contracts`, which may import only zod.
 */
// Composition roots. Modules that several roots of the shims, or both roots of the hub, share count as roots.
const MAIN = '(/main|^src/hub/(composition|observability/logs)|^adapters/shim-process)\\.ts$'
const room = (names) =>
  `^(${names.map((name) => (name.startsWith('adapters') ? name : `src/${name}`)).join('|')})(/|\\.ts$)`

const rule = (name, from, allowed, { mainToo = false } = {}) => ({
  name: `${name}-imports`,
  severity: 'error',
  from: mainToo ? { path: from } : { path: from, pathNot: MAIN },
  to: { path: '^(src|adapters)/', pathNot: room(allowed) },
})

/** Modules that each module may import, besides `lib`. The table in ARCHITECTURE.md. */
const MODULES = {
  lib: [],
  activity: [],
  search: [],
  registry: [],
  routines: [],
  runs: [],
  signals: ['registry'],
  coordinator: ['registry'],
  records: ['registry'],
  git: ['records'],
  memory: ['records', 'search'],
  graph: ['memory'],
  decisions: ['memory', 'graph'],
  blackboard: ['memory', 'decisions'],
  context: ['memory', 'decisions', 'records', 'registry', 'signals'],
}

const moduleRule = ([name, allowed]) => ({
  name: `module-${name}-imports`,
  severity: 'error',
  from: { path: `^src/modules/${name}/` },
  to: {
    path: '^src/modules/',
    pathNot: `^src/modules/((${[name, 'lib', ...allowed].join('|')})/|module-context\\.ts$)`,
  },
})

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    rule('contracts', '^src/contracts/', ['contracts'], { mainToo: true }),
    {
      name: 'contracts-packages',
      severity: 'error',
      from: { path: '^src/contracts/' },
      to: { dependencyTypes: ['npm', 'core'], pathNot: 'node_modules/zod/' },
    },
    rule('ports', '^src/ports/', ['ports', 'contracts'], { mainToo: true }),
    rule('system', '^src/system/', ['system', 'ports', 'contracts'], { mainToo: true }),
    rule('modules', '^src/modules/', ['modules', 'ports', 'contracts']),
    ...Object.entries(MODULES).map(moduleRule),
    {
      name: 'module-without-a-rule',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/', pathNot: `^src/modules/(${Object.keys(MODULES).join('|')})/` },
      to: { path: '^src/modules/', pathNot: '^src/modules/$1/' },
    },
    rule('storage', '^src/storage/', ['storage', 'system', 'ports', 'contracts']),
    rule('kernel', '^src/kernel/', ['kernel', 'modules/modules', 'ports', 'contracts']),
    rule('facades', '^src/facades/', ['facades', 'kernel/define', 'modules', 'contracts']),
    {
      name: 'facades-modules-as-types',
      severity: 'error',
      from: { path: '^src/facades/' },
      to: { path: '^src/modules/', dependencyTypesNot: ['type-only'] },
    },
    rule('transports', '^src/transports/', ['transports', 'kernel', 'modules', 'ports', 'contracts']),
    {
      name: 'transports-modules-as-types',
      severity: 'error',
      from: { path: '^src/transports/' },
      to: { path: '^src/modules/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-the-websocket-knows-modules',
      severity: 'error',
      from: { path: '^src/transports/', pathNot: '^src/transports/ws/' },
      to: { path: '^src/modules/' },
    },
    rule('bridge', '^src/bridge/', ['bridge', 'transports', 'kernel', 'ports', 'contracts']),
    rule('daemon', '^src/daemon/', ['daemon', 'ports', 'contracts']),
    rule('cli', '^src/cli/', ['cli', 'facades', 'kernel', 'system', 'ports', 'contracts'], { mainToo: true }),
    rule('plugin', '^src/plugin/', ['plugin', 'kernel', 'modules/modules', 'contracts'], { mainToo: true }),
    rule('adapters', '^adapters/', ['adapters', 'ports', 'contracts']),
    rule('hub', '^src/hub/', [
      'hub',
      'contracts',
      'ports',
      'modules',
      'kernel',
      'facades',
      'storage',
      'transports',
      'bridge',
    ]),
    {
      name: 'system-only-at-the-roots',
      comment: 'Real time, processes and files are handed in by a composition root.',
      severity: 'error',
      from: {
        path: '^(src|adapters)/',
        pathNot: [MAIN, '^src/(system|storage|cli)/', '^src/bin\\.ts$'],
      },
      to: { path: '^src/(system|storage/open)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'hub-knows-no-daemon',
      severity: 'error',
      from: { path: '^src/hub/' },
      to: { path: '^(src/(daemon|cli)|adapters)/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
