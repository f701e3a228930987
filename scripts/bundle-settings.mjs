/** Settings to bundle the product, also for measurements and tests outside of dist/. */
import fs from 'node:fs'
import path from 'node:path'

const manifest = path.join(import.meta.dirname, '../package.json')
const { version } = JSON.parse(fs.readFileSync(manifest, 'utf8'))

/** zod includes its messages in fifty languages; turnbell uses English only, and a daemon loads its whole bundle. */
const englishOnly = {
  name: 'english-only',
  setup({ onLoad }) {
    onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

/**
 * A daemon's metrics are its own. The other parts of prom-client (process metrics, clusters, a push gateway) and a
 * tracing library would only be loaded. The hub loads the whole package from node_modules.
 */
const ownMetrics = {
  name: 'own-metrics',
  setup({ onLoad }) {
    onLoad({ filter: /prom-client[/\\]lib[/\\](defaultMetrics|cluster|pushgateway)\.js$/ }, () => ({
      contents: 'module.exports = {}',
    }))
  },
}

/** Some of node's own modules take milliseconds to load, so unused imports of them are removed. */
const usedOnly = {
  name: 'used-only',
  setup({ onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }))
  },
}

/** Settings of every program of the product. */
export const bundleSettings = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // Names are preserved, so that stack traces in a user's log are readable. Source maps would be three quarters of the
  // package, and node reads them only on request.
  minifyWhitespace: true,
  minifySyntax: true,
  plugins: [englishOnly, ownMetrics, usedOnly],
  legalComments: 'none',
  logLevel: 'warning',
  define: { 'globalThis.TURNBELL_VERSION': JSON.stringify(version) },
  // Bundled CommonJS packages call require for Node's modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
}

/** CommonJS: node starts it immediately, and its compiled code can be stored. */
export const commonModule = {
  ...bundleSettings,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  banner: {},
  define: { ...bundleSettings.define, 'import.meta.dirname': '__dirname' },
}

/** Runs inside Claude Code, without Node.js. The client reads the source, so nothing is shortened. */
export const clientModule = {
  ...bundleSettings,
  platform: 'neutral',
  target: 'es2023',
  minifyWhitespace: false,
  minifySyntax: false,
  banner: {},
}
