/**
 * Who may import whom. The table in ARCHITECTURE.md, as rules. A room may always import itself; npm
 * packages are free except in `contracts`, which knows only zod.
 */
// What the shims' roots share is a root itself, and so is what the hub's two roots share.
const MAIN = '(/main|^src/hub/(composition|logs)|^adapters/shim-process)\\.ts$'
const room = (names) =>
  `^(${names.map((name) => (name.startsWith('adapters') ? name : `src/${name}`)).join('|')})(/|\\.ts$)`

const rule = (name, from, allowed, { mainToo = false } = {}) => ({
  name: `${name}-imports`,
  severity: 'error',
  from: mainToo ? { path: from } : { path: from, pathNot: MAIN },
  to: { path: '^(src|adapters)/', pathNot: room(allowed) },
})

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
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
    rule('storage', '^src/storage/', ['storage', 'system', 'ports', 'contracts']),
    rule('kernel', '^src/kernel/', ['kernel', 'modules/modules', 'ports', 'contracts']),
    rule('facades', '^src/facades/', ['facades', 'kernel/define', 'modules', 'contracts']),
    {
      name: 'facades-modules-as-types',
      severity: 'error',
      from: { path: '^src/facades/' },
      to: { path: '^src/modules/', dependencyTypesNot: ['type-only'] },
    },
    rule('transports', '^src/transports/', ['transports', 'kernel', 'ports', 'contracts']),
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
