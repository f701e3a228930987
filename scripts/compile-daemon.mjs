/**
 * `node compile-daemon.mjs DIST` keeps beside the daemon's bundle what V8 compiles of it, so that no start has to do that
 * again. What counts is what a daemon really uses, so one starts, in a home of its own and without a hub.
 */
import { build } from 'esbuild'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import v8 from 'node:v8'

const file = path.resolve(process.argv[2], 'daemon.cjs')
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-build-'))
process.on('exit', () => fs.rmSync(home, { recursive: true, force: true }))
const leave = () => process.exit(1)
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP']
for (const os_signal of ENDINGS) process.on(os_signal, leave)

const loader = path.join(home, 'code-cache.mjs')
await build({
  entryPoints: [path.join(import.meta.dirname, '../src/system/code-cache.ts')],
  outfile: loader,
  ...{ bundle: true, platform: 'node', target: 'node20', format: 'esm' },
})
const { codeCacheOf, loadProgram } = await import(pathToFileURL(loader).href)
const { exports, keepCompiled } = loadProgram(file)
const nobody = 'http://127.0.0.1:1'
await exports.main(['--home', home, '--persona', 'compiled', '--surface', 'mcp', '--hub', nobody])
// It has said why.
if (process.exitCode) process.exit()
// The daemon hears them itself by now, and ends with 0.
for (const os_signal of ENDINGS) process.off(os_signal, leave)

// The code is for the flags that a process has when it loads a daemon. That sets one then (`run` in src/daemon/main.ts): back to
// V8's own value.
v8.setFlagsFromString('--semi-space-growth-factor=2')
keepCompiled()
// A daemon's own files are nobody else's; this is everybody's who may start one.
fs.chmodSync(codeCacheOf(file), 0o644)
process.kill(process.pid, 'SIGTERM')
