/** How the product is bundled, also where something is measured or tried beside what is in dist/. */
import fs from 'node:fs'
import path from 'node:path'

const manifest = path.join(import.meta.dirname, '../package.json')
const { version } = JSON.parse(fs.readFileSync(manifest, 'utf8'))

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

/** How every program of the product is bundled. */
export const bundleSettings = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // Names stay, so stack traces in a user's log are readable. Source maps would be three quarters of the package, and node
  // reads them only when it is asked to.
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

/** The older form of modules: node begins with it at once, and what is compiled of it can be kept. */
export const commonModule = {
  ...bundleSettings,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  banner: {},
  define: { ...bundleSettings.define, 'import.meta.dirname': '__dirname' },
}
