/**
 * `node compile-daemon.mjs DIST` stores V8's compiled code next to the daemon's bundle, so that starts need not compile
 * again. To cover the functions that a daemon really uses, one is started, in a temporary home and without a hub.
 */
import { build } from 'esbuild'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import v8 from 'node:v8'
import { createEnding } from '../test/support/command/ending.mjs'

const file = path.resolve(process.argv[2], 'daemon.cjs')
const home = createEnding().removes(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-build-')))

const loader = path.join(home, 'code-cache.mjs')
await build({
  entryPoints: [path.join(import.meta.dirname, '../src/system/process/code-cache.ts')],
  outfile: loader,
  ...{ bundle: true, platform: 'node', target: 'node20', format: 'esm' },
})
const { codeCacheOf, loadProgram } = await import(pathToFileURL(loader).href)
const { exports, keepCompiled } = loadProgram(file)
const nobody = 'http://127.0.0.1:1'
await exports.main(['--home', home, '--persona', 'compiled', '--surface', 'mcp', '--hub', nobody])
// The reason was printed before.
if (process.exitCode) process.exit()

// The code is valid only for the flags that a process has when it loads a daemon. The daemon sets one afterwards (`run`
// in src/daemon/main.ts), so it is reset to V8's default.
v8.setFlagsFromString('--semi-space-growth-factor=2')
keepCompiled()
// A daemon's own files are private; this one is readable by every user who may start a daemon.
fs.chmodSync(codeCacheOf(file), 0o644)
process.exit()
