import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { loadModule } from '../../../../src/system/process/load-module.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

let home: string
beforeEach(() => (home = temporaryDirectory()))

function write(file: string, text: string): void {
  const full = path.join(home, file)
  fs.mkdirSync(path.dirname(full), { recursive: true })
  fs.writeFileSync(full, text)
}
const says = (word: string) => `export default ${JSON.stringify(word)}\n`
const pack = (name: string, more: object) =>
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, ...more }))
const load = async (name: string, from = home) =>
  ((await loadModule(name, from)) as { default: unknown }).default

describe('a module is loaded', () => {
  test('a module is loaded from a path, relative to the naming file', async () => {
    write('mine.mjs', says('mine'))
    expect(await load('./mine.mjs')).toBe('mine')
    expect(await load(path.join(home, 'mine.mjs'), '/')).toBe('mine')
  })

  test.each<[string, object, string]>([
    ['exports', { exports: './out/a.mjs' }, 'out/a.mjs'],
    ['exports of the root', { exports: { '.': './out/b.mjs', './other': './no.mjs' } }, 'out/b.mjs'],
    [
      'conditions',
      { exports: { '.': { types: './a.d.ts', require: './no.cjs', import: './c.mjs' } } },
      'c.mjs',
    ],
    ['conditions in conditions', { exports: { node: { require: './no.cjs', default: './d.mjs' } } }, 'd.mjs'],
    ['main', { main: 'e.mjs' }, 'e.mjs'],
    ['nothing', { type: 'module' }, 'index.js'],
  ])('a module is loaded from a package with %s', async (_, manifest, file) => {
    pack('theirs', manifest)
    write(`node_modules/theirs/${file}`, says(file))
    expect(await load('theirs')).toBe(file)
  })

  test('a module is loaded from a scoped package, also from a parent directory', async () => {
    pack('@them/theirs', { exports: './x.mjs' })
    write('node_modules/@them/theirs/x.mjs', says('scoped'))
    expect(await load('@them/theirs', path.join(home, 'a', 'b'))).toBe('scoped')
  })

  test('a module is loaded from a directory', async () => {
    write('mine/package.json', '{"main":"./m.mjs"}')
    write('mine/m.mjs', says('directory'))
    expect(await load('./mine')).toBe('directory')
  })
})

describe('a module is refused', () => {
  test.each([
    ['./none.mjs', 'does not exist'],
    ['none', 'the package none is not installed in'],
  ])('a missing module is rejected: %s', async (name, message) => expect(load(name)).rejects.toThrow(message))

  test('the error of a module that throws is passed on', async () => {
    write('bad.mjs', "throw new Error('not today')\n")
    await expect(load('./bad.mjs')).rejects.toThrow('not today')
  })

  test('a module with an invalid package.json is rejected', async () => {
    write('node_modules/odd/package.json', '{')
    await expect(load('odd')).rejects.toThrow(SyntaxError)
  })
})
