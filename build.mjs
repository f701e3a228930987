/** Builds dist/: one bundled file per program, so that a daemon starts fast and stays small. */
import { build } from 'esbuild'
import fs from 'node:fs'

const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8'))

// Built aside and moved into place, so that what runs from dist/ never meets half a build.
const aside = `dist.${process.pid}`

/** zod brings its messages in fifty languages; ours are English, and a daemon loads what its bundle holds. */
const englishOnly = {
  name: 'english-only',
  setup({ onLoad }) {
    onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

/**
 * A daemon's metrics are its own. What prom-client has beside them (a process's own figures, clusters, a push gateway)
 * would only be loaded, and a tracing library with it. The hub loads the whole package from node_modules.
 */
const ownMetrics = {
  name: 'own-metrics',
  setup({ onLoad }) {
    onLoad({ filter: /prom-client[/\\]lib[/\\](defaultMetrics|cluster|pushgateway)\.js$/ }, () => ({
      contents: 'module.exports = {}',
    }))
  },
}

/** Node's own modules only say what they have. Some take milliseconds to load: what of them nothing uses is left out. */
const usedOnly = {
  name: 'used-only',
  setup({ onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }))
  },
}

const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  // Names stay: stack traces in a user's log must be readable.
  minifyWhitespace: true,
  minifySyntax: true,
  plugins: [englishOnly, ownMetrics, usedOnly],
  legalComments: 'none',
  logLevel: 'warning',
  define: { 'globalThis.TURNBELL_VERSION': JSON.stringify(version) },
  // Bundled CommonJS packages still call require for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
}

// jsonc-parser's other form loads its parts in a way that no bundler can follow.
const followed = ['module', 'main']

const programs = {
  cli: 'src/cli/main.ts',
  bridge: 'src/transports/bridge/main.ts',
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
  build({
    ...shared,
    entryPoints: { turnbell: 'src/bin.ts' },
    outdir: aside,
    ...{ format: 'cjs', outExtension: { '.js': '.cjs' }, banner: {} },
  }),
  build({
    ...shared,
    entryPoints: { daemon: 'src/daemon/main.ts' },
    outdir: aside,
    // What it imports late, as what only a link takes, is a file of its own, so that node does not even look through it before.
    splitting: true,
    chunkNames: 'daemon-[name]-[hash]',
    // It asks again where too many files are open, and takes as long to load as all the rest of the lock.
    alias: { 'graceful-fs': 'node:fs' },
  }),
  // The hub is started once a machine, so it may load its packages from node_modules.
  build({ ...shared, entryPoints: { hub: 'src/hub/main.ts' }, outdir: aside, packages: 'external' }),
  build({ ...shared, entryPoints: programs, outdir: aside, mainFields: followed }),
  // For plugins that others write: their zod is ours.
  build({ ...shared, entryPoints: { plugin: 'src/plugin/main.ts' }, outdir: aside, packages: 'external' }),
  // For surfaces that others write; their tests bring vitest along.
  build({ ...shared, entryPoints: kit, outdir: aside, external: ['vitest'] }),
  build({
    ...shared,
    entryPoints: { headless: 'adapters/claude-code/headless/main.ts' },
    outdir: `${aside}/adapters/claude-code`,
  }),
  build({
    ...shared,
    entryPoints: { plugin: 'adapters/opencode/plugin/main.ts' },
    outdir: `${aside}/adapters/opencode`,
  }),
  ...Object.entries(shims).map(([kind, entry]) =>
    build({
      ...shared,
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
fs.cpSync('src/system/onnx-worker.js', `${aside}/onnx-worker.js`)
fs.cpSync('adapters/claude-code/plugin', `${aside}/adapters/claude-code`, { recursive: true })

fs.rmSync('dist', { recursive: true, force: true })
fs.renameSync(aside, 'dist')
