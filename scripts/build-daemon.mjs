/**
 * The daemon's bundle. One runs for each persona all day, so it is built to start fast: in the older form of modules, as one
 * function whose compiled code lies beside it (src/system/code-cache.ts).
 */
import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { commonModule } from './bundle-settings.mjs'

/** Packages that it loads late, or never. Files of their own, so that node does not even look through them before. */
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

/** Into `outdir`, without what is compiled. */
export async function buildDaemon(outdir) {
  await Promise.all([
    build({
      ...commonModule,
      entryPoints: { daemon: 'src/daemon/main.ts' },
      outdir,
      banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
      footer: { js: '})' },
      // What it imports late is part of it, beside it, or node's own.
      supported: { 'dynamic-import': false },
      plugins: [...commonModule.plugins, besidesIt],
      // It asks again where too many files are open, and takes as long to load as all the rest of the lock.
      alias: { 'graceful-fs': 'node:fs' },
    }),
    ...LATE.map((name) => build({ ...commonModule, entryPoints: { [lateFile(name)]: name }, outdir })),
  ])
}

/** Once all of the product is there. Only a gain of time for each start, so a build goes on where it cannot be had. */
export async function compileDaemon(outdir) {
  // Settings of this build, of node's or ours, are not those of the daemons to come.
  const own = Object.entries(process.env).filter(([name]) => !/^(TURNBELL|NODE)_/.test(name))
  const program = path.join(import.meta.dirname, 'compile-daemon.mjs')
  const compiler = spawn(process.execPath, [program, outdir], {
    env: Object.fromEntries(own),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(compiler, 'exit')
  if (code !== 0) console.warn(`daemons will be compiled at each start: ${program} ended with ${code}`)
}
