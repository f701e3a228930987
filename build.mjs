/** Builds dist/: one bundled file per program, so that a daemon starts fast and stays small. */
import { build } from 'esbuild'
import fs from 'node:fs'
import { buildDaemon, compileDaemon } from './scripts/build-daemon.mjs'
import { bundleSettings, clientModule, commonModule } from './scripts/bundle-settings.mjs'
import { createEnding } from './test/support/command/ending.mjs'

// Built aside and moved into place, so that what runs from dist/ never meets half a build.
const aside = createEnding().removes(`dist.${process.pid}`)

// jsonc-parser's other form loads its parts in a way that no bundler can follow.
const followed = ['module', 'main']

const programs = {
  cli: 'src/cli/main.ts',
  bridge: 'src/bridge/main.ts',
  hook: 'src/cli/hooks/main.ts',
}
const shims = {
  command: 'adapters/command/main.ts',
  'claude-code': 'adapters/claude-code/main.ts',
  codex: 'adapters/codex/main.ts',
  opencode: 'adapters/opencode/main.ts',
  acp: 'adapters/acp/main.ts',
  tmux: 'adapters/tmux/main.ts',
}
const kit = { surface: 'adapters/kit/main.ts', 'surface-suite': 'test/suites/published.ts' }

await Promise.all([
  build({ ...commonModule, entryPoints: { turnbell: 'src/bin.ts' }, outdir: aside }),
  buildDaemon(aside),
  // The hub is started once a machine, so it may load its packages from node_modules.
  build({ ...bundleSettings, entryPoints: { hub: 'src/hub/main.ts' }, outdir: aside, packages: 'external' }),
  // A thread of the hub; only its database has a native part.
  build({
    ...bundleSettings,
    entryPoints: { activity: 'src/hub/activity/main.ts' },
    outdir: aside,
    external: ['libsql'],
    mainFields: followed,
  }),
  build({ ...bundleSettings, entryPoints: programs, outdir: aside, mainFields: followed }),
  // For plugins that others write: their zod is ours.
  build({
    ...bundleSettings,
    entryPoints: { plugin: 'src/plugin/main.ts' },
    outdir: aside,
    packages: 'external',
  }),
  // For surfaces that others write; their tests bring vitest along.
  build({ ...bundleSettings, entryPoints: kit, outdir: aside, external: ['vitest'] }),
  build({
    ...bundleSettings,
    entryPoints: { headless: 'adapters/claude-code/headless/main.ts' },
    outdir: `${aside}/adapters/claude-code`,
  }),
  build({
    ...clientModule,
    entryPoints: { mod: 'adapters/claude-code/mod/main.ts' },
    outdir: `${aside}/adapters/claude-code/hooks`,
  }),
  build({
    ...bundleSettings,
    entryPoints: { plugin: 'adapters/opencode/plugin/main.ts' },
    outdir: `${aside}/adapters/opencode`,
  }),
  ...Object.entries(shims).map(([kind, entry]) =>
    build({
      ...bundleSettings,
      entryPoints: { shim: entry },
      outdir: `${aside}/adapters/${kind}`,
      mainFields: followed,
    }),
  ),
])

fs.chmodSync(`${aside}/turnbell.cjs`, 0o755)
// The name that it had: clients that were connected to that start it by its path. An import would have node look through
// all of it for what it exports, half as long again as a hook takes.
const former =
  "import { createRequire } from 'node:module'\ncreateRequire(import.meta.url)('./turnbell.cjs')\n"
fs.writeFileSync(`${aside}/turnbell.js`, former)
// Node starts it as a thread of the hub's, so it stands by itself, as it is.
fs.cpSync('src/system/embedding/onnx-worker.js', `${aside}/onnx-worker.js`)
fs.cpSync('adapters/claude-code/plugin', `${aside}/adapters/claude-code`, { recursive: true })

await compileDaemon(aside)

fs.rmSync('dist', { recursive: true, force: true })
fs.renameSync(aside, 'dist')
