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
import { createEnding } from '../test/support/ending.mjs'

const file = path.resolve(process.argv[2], 'daemon.cjs')
const home = createEnding().removes(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-build-')))

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

// The code is for the flags that a process has when it loads a daemon. That sets one then (`run` in src/daemon/main.ts): back to
// V8's own value.
v8.setFlagsFromString('--semi-space-growth-factor=2')
keepCompiled()
// A daemon's own files are nobody else's; this is everybody's who may start one.
fs.chmodSync(codeCacheOf(file), 0o644)
process.exit()
