/**
 * Builds the daemon's bundle. One daemon runs for each persona all day, so it is built to start fast: as CommonJS, as
 * one function whose compiled code is stored next to it (src/system/process/code-cache.ts).
 */
import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { commonModule } from './bundle-settings.mjs'

/** Packages that it loads late or never. They are separate files, so that node does not parse them earlier. */
const LATE = ['prom-client', 'ws', 'yaml']
const lateFile = (name) => `daemon-${name}`

const besidesIt = {
  name: 'besides-it',
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^(${LATE.join('|')})$`) }, ({ path: name }) => ({
      path: `./${lateFile(name)}.cjs`,
      external: true,
    }))
  },
}

/** Builds into `outdir`, without the compiled code. */
export async function buildDaemon(outdir) {
  await Promise.all([
    build({
      ...commonModule,
      entryPoints: { daemon: 'src/daemon/main.ts' },
      outdir,
      banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
      footer: { js: '})' },
      // Late imports are part of the bundle, next to it, or node's own modules.
      supported: { 'dynamic-import': false },
      plugins: [...commonModule.plugins, besidesIt],
      // graceful-fs only adds retries when too many files are open, and takes as long to load as the rest of the lock.
      alias: { 'graceful-fs': 'node:fs' },
    }),
    ...LATE.map((name) => build({ ...commonModule, entryPoints: { [lateFile(name)]: name }, outdir })),
  ])
}

/**
 * Called when the product is complete. The build continues without the compiled code, which only makes starts faster.
 */
export async function compileDaemon(outdir) {
  // Variables of node and turnbell in this build do not apply to later daemons.
  const own = Object.entries(process.env).filter(([name]) => !/^(TURNBELL|NODE)_/.test(name))
  const program = path.join(import.meta.dirname, 'compile-daemon.mjs')
  const compiler = spawn(process.execPath, [program, outdir], {
    env: Object.fromEntries(own),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(compiler, 'exit')
  if (code !== 0) console.warn(`daemons will be compiled at each start: ${program} ended with ${code}`)
}
