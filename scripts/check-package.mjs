/**
 * Packs the package, installs the tarball in an empty directory and runs the command there. The template for
 * third-party surfaces must pass the published suite and the type check there, too. Then installs a copy of this
 * checkout globally, with a separate prefix.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-package-'))
/** Source of a typed adapter. */
const TYPED = `
import { serveSurface, type Doorbell, type RingResult, type Surface } from 'turnbell/surface'
import { describeSurface, fakeClock } from 'turnbell/surface-suite'
const surface: Surface = {
  notify_surface: async (doorbell: Doorbell): Promise<RingResult> => ({ accepted: doorbell.text !== '', proof: 'sent' }),
  resume_surface: async () => {},
  status: async () => ({ surface: 'mcp', session_id: null, delivery: 'push', turn: 'idle', turn_seq: 0 }),
}
export const shim = serveSurface(surface, { persona: 'ada' })
// @ts-expect-error a turn is no number
export const wrong: Awaited<ReturnType<Surface['status']>>['turn'] = 1
describeSurface('typed', { takes: false, receipts: false }, async () => ({
  surface, clock: fakeClock(), mode() {}, rung: () => [], beginTurn: async () => {}, endTurn: async () => {}, close() {},
}))
`
/** Source of a typed plugin. */
const TYPED_PLUGIN = `
import { definePlugin, defineAction, z } from 'turnbell/plugin'
export default definePlugin({ name: 'typed', facades: [{ name: 'typed', summary: 'x', compact: 'x', actions: {
  go: defineAction({ summary: 'x', mutates: false, errors: ['target_unknown'], allow: ['agent'],
    input: z.strictObject({ n: z.number() }), output: z.object({ n: z.number() }),
    handle: async ({ n }, { kernel }) => ((await kernel.call('signals', 'inbox', {})).ok ? { n } : { n: 0 }) }),
  // @ts-expect-error the answer is no number
  wrong: defineAction({ summary: 'x', mutates: false, errors: [], allow: [], input: z.strictObject({}), output: z.object({ n: z.number() }), handle: () => ({ n: 'x' }) }),
} }] })
`
/** Size limit of the tarball. */
const PACKED_BYTES_MAX = 4_000_000
/** Not part of a fresh clone. */
const NOT_CLONED = new Set(['.git', '.clients', '.judges', 'dist', 'node_modules'])

const run = (command, args, cwd = empty) => execFileSync(command, args, { cwd, encoding: 'utf8' })

try {
  run(process.execPath, [path.join(root, 'scripts/build-types.mjs')], root)
  run(path.join(root, 'node_modules/.bin/publint'), ['--strict'], root)
  const [{ filename, size, files }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', empty], root),
  )
  checkSize(size, files)
  fs.writeFileSync(path.join(empty, 'package.json'), '{"private":true}')
  install([path.join(empty, filename)], empty)
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  const said = run(path.join(empty, 'node_modules/.bin/turnbell'), ['--version']).trim()
  if (said !== version) throw new Error(`--version said ${said}, the package is ${version}`)
  const demo = JSON.parse(run(path.join(empty, 'node_modules/.bin/turnbell'), ['demo', '--json']))
  if (demo.ok !== true) throw new Error(`the demo failed: ${JSON.stringify(demo)}`)
  checkTemplate()
  checkPlugin()
  checkNoFixtures()
  checkGlobalInstall(version)
  console.log(`packed, installed and ran turnbell ${said}`)
} finally {
  fs.rmSync(empty, { recursive: true, force: true })
}

function checkSize(bytes, files) {
  if (bytes > PACKED_BYTES_MAX) throw new Error(`the package has ${bytes} bytes, at most ${PACKED_BYTES_MAX}`)
  const maps = files.map((file) => file.path).filter((name) => name.endsWith('.map'))
  if (maps.length > 0) throw new Error(`source maps were packed: ${maps.join(', ')}`)
}

/** Runs `npm install` and fails on a warning about the version of Node. */
function install(args, cwd) {
  const options = ['install', '--no-audit', '--no-fund', '--prefer-offline']
  const { status, stdout, stderr } = spawnSync('npm', [...options, ...args], { cwd, encoding: 'utf8' })
  const said = `${stdout}${stderr}`
  if (status !== 0) throw new Error(`npm install ${args.join(' ')} failed:\n${said}`)
  if (/EBADENGINE/.test(said)) throw new Error(`npm install ${args.join(' ')} warns of the engine:\n${said}`)
}

/** Like in a fresh clone: npm links it, and `prepare` installs and builds. */
function checkGlobalInstall(version) {
  const [clone, prefix] = ['clone', 'prefix'].map((name) => path.join(empty, name))
  for (const name of fs.readdirSync(root).filter((entry) => !NOT_CLONED.has(entry)))
    fs.cpSync(path.join(root, name), path.join(clone, name), { recursive: true })
  install(['--global', '--prefix', prefix, '.'], clone)
  const installed = run(path.join(prefix, 'bin/turnbell'), ['--version']).trim()
  if (installed !== version) throw new Error(`installed globally, --version is ${installed}, not ${version}`)
}

function checkTemplate() {
  const template = path.join(empty, 'my-surface')
  fs.cpSync(path.join(empty, 'node_modules/turnbell/adapters/kit/template'), template, { recursive: true })
  // npm would install the vitest of the registry; the one of this checkout is used instead.
  fs.symlinkSync(path.join(root, 'node_modules/vitest'), path.join(empty, 'node_modules/vitest'))
  run(path.join(root, 'node_modules/.bin/vitest'), ['run', '--root', template, '--reporter', 'dot'])
  fs.writeFileSync(path.join(empty, 'typed.mts'), TYPED)
  fs.writeFileSync(path.join(empty, 'plugin.mts'), TYPED_PLUGIN)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--skipLibCheck']
  run(path.join(root, 'node_modules/.bin/tsc'), [...options, 'typed.mts', 'plugin.mts'])
}

/** Checks the plugin's folder, because Claude Code loads it without reporting a missing part. */
function checkPlugin() {
  const plugin = path.join(empty, 'node_modules/turnbell/dist/adapters/claude-code')
  const parts = fs.readdirSync(path.join(root, 'adapters/claude-code/plugin'), { recursive: true })
  const missing = parts.filter((part) => !fs.existsSync(path.join(plugin, part)))
  if (missing.length > 0) throw new Error(`parts of the plugin were not packed: ${missing.join(', ')}`)
  if (!parts.includes('agents/turnbell-aware.md')) throw new Error('the plugin has no agent')
}

/** Only the hub of a checkout may offer the fixtures of the conformance suite. */
function checkNoFixtures() {
  const installed = path.join(empty, 'node_modules/turnbell')
  const files = fs.readdirSync(installed, { recursive: true, withFileTypes: true })
  const holding = files
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => fs.readFileSync(file, 'utf8').includes('test_simple_text'))
  if (holding.length > 0) throw new Error(`fixtures were packed: ${holding.join(', ')}`)
}
