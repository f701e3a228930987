/** The client reads the module's source before it runs it, and rejects what it cannot follow. */
import { build } from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { clientModule } from '../../../../../scripts/bundle-settings.mjs'

const ROOT = path.resolve(import.meta.dirname, '../../../../..')
let source = ''

beforeAll(async () => {
  const entryPoints = [path.join(ROOT, 'adapters/claude-code/mod/main.ts')]
  const { outputFiles } = await build({ ...clientModule, entryPoints, write: false, outfile: 'mod.js' })
  source = outputFiles[0]?.text ?? ''
})

test('the module exports its registration and imports nothing', () => {
  expect(source).toMatch(/^export \{\n {2}register\n\};$/m)
  expect(source).not.toMatch(/^import |\bimport\(|\brequire\(|(?<!\$\.)\bprocess\./m)
})

test('the module contains no schemas', () => {
  expect(source).not.toContain('zod')
  expect(source.length).toBeLessThan(45_000)
})

test('the interface of the client is only called, and never passed on', () => {
  // In front of a brace it is part of a template, and in front of a quote the end of a pattern.
  const uses = source.match(/(?<![\w$])\$(?![{/`]).{0,40}/g) ?? []
  expect(uses.filter((use) => !/^\$(\.[a-z]+\.[a-zA-Z]+\(|, e(, next)?\))/.test(use))).toEqual([])
  expect(uses.length).toBeGreaterThan(10)
})

test('names of events and variables are literals, and each event has one hook for a component', () => {
  const events = [...source.matchAll(/(?<![\w.])on\((.*?), (\{.*?\})?/g)].map(
    ([, name = '', component = '']) => name + component,
  )
  const literal = /^"[a-z]+\.[a-z]+"(\{( \w+: "\w+",?)+ \})?$/
  expect(events.filter((name) => !literal.test(name))).toEqual([])
  expect(new Set(events).size).toBe(events.length)
  for (const [, name] of source.matchAll(/\$\.env\.get\((.*?)\)/g)) expect(name).toMatch(/^"[A-Z_]+"$/)
})

test('the version of the package is inserted', () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  expect(source).toContain(`"${version}"`)
})

test('the hooks of the plugin name the module that the build creates', () => {
  const hooks = fs.readFileSync(path.join(ROOT, 'adapters/claude-code/plugin/hooks/hooks.json'), 'utf8')
  expect(JSON.parse(hooks)).toHaveProperty('modules', ['./mod.js'])
  expect(fs.readFileSync(path.join(ROOT, 'build.mjs'), 'utf8')).toContain(
    "entryPoints: { mod: 'adapters/claude-code/mod/main.ts' }",
  )
})
