/** Tests that the examples in CONTRIBUTING match the code that they describe. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKinds } from '../../src/modules/records/kinds.ts'
import { smallKernel } from '../support/worlds/small-kernel.ts'
import { focus } from '../fixtures/facade/focus.ts'
import { createFocus } from '../fixtures/facade/focus-service.ts'
import { Recipe } from '../fixtures/facade/recipe.ts'
import { team } from '../fixtures/facade/team.ts'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string) => fs.readFileSync(path.join(root, file), 'utf8')
const shown = [...read('CONTRIBUTING.md').matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code)

test('the facade of the worked example is the tested one', () => {
  const facade = read('test/fixtures/facade/team.ts').replaceAll("'../../../src/", "'../")
  const its_test = read('test/fixtures/facade/team.test.ts').replace(
    "'./team.ts'",
    "'../../../src/facades/team.ts'",
  )
  expect(shown).toContain(facade)
  expect(shown).toContain(its_test)
})

test('the facade with a module of the worked example is the tested one', () => {
  const module = read('test/fixtures/facade/focus-service.ts')
    .replaceAll("'../../../src/modules/", "'../")
    .replaceAll("'../../../src/", "'../../")
  const facade = read('test/fixtures/facade/focus.ts').replaceAll("'../../../src/", "'../")
  const its_test = read('test/fixtures/facade/focus.test.ts')
    .replace("'./focus.ts'", "'../../../src/facades/focus.ts'")
    .replace("'./focus-service.ts'", "'../../../src/modules/focus/service.ts'")
  for (const code of [module, facade, its_test]) expect(shown).toContain(code)
})

/** Returns the only example that contains `word`. */
function exampleWith(word: string): string {
  const found = shown.filter((code) => code?.includes(word))
  expect(found).toHaveLength(1)
  return String(found[0])
}

const withoutComments = (code: string) => code.replaceAll(/\/\*[^]*?\*\//g, '')
const identifiersOf = (code: string) => [
  ...new Set([...withoutComments(code).matchAll(/[A-Za-z_]\w*/g)].map(([word]) => word)),
]

describe.each([
  { file: 'src/modules/modules.ts', word: 'TableModules', added: ['focus', 'FocusModule', 'createFocus'] },
  { file: 'src/facades/all.ts', word: 'FACADES', added: ['team'] },
])('the example of a line in $file', ({ file, word, added }) => {
  const code = withoutComments(exampleWith(word))
  const source = read(file)

  test(`the declarations of the example with ${word} are in ${file}`, () => {
    const declarations = [...code.matchAll(/^export .*?[{[]/gm)].map(([declaration]) => declaration)
    expect(declarations.length).toBeGreaterThan(0)
    for (const declaration of declarations) expect(source).toContain(declaration)
  })

  test(`the example with ${word} uses only names of ${file}, besides those that it adds`, () => {
    const known = new Set(identifiersOf(source))
    expect(identifiersOf(code).filter((name) => !known.has(name))).toEqual(
      added.filter((name) => !known.has(name)),
    )
    expect(identifiersOf(code)).toEqual(expect.arrayContaining(added))
  })
})

test('the tested fixtures export the names that the examples add', () => {
  expect([focus.name, typeof createFocus, team.name]).toEqual(['focus', 'function', 'team'])
  expect(read('test/fixtures/facade/focus-service.ts')).toContain('export type FocusModule =')
})

test('the kind of records of the worked example is the tested one', () => {
  const [, kind] = read('test/fixtures/facade/recipe.ts').split('\nexport ')
  expect(shown).toContain(kind)
})

test('the kind of records of the worked example is valid, and so are its examples', () => {
  expect(createKinds([Recipe]).get('recipe')).toMatchObject({ kind: { name: 'recipe' } })
  const [example] = Recipe.examples ?? []
  expect(Recipe.fields.parse(example)).toEqual({ ...example, links: [] })
})

test('the example of a tag names a test of the clients that has this tag', () => {
  const [, example = ''] = /```js\n(test\(.*?\}), async/.exec(read('CONTRIBUTING.md')) ?? []
  expect(example).toContain("tags: ['extended']")
  const clients = fs.readdirSync(path.join(root, 'test/clients')).filter((name) => name.endsWith('.test.ts'))
  expect(clients.filter((name) => read(`test/clients/${name}`).includes(example))).toHaveLength(1)
})

test('the facade of the worked example is found by its words', async () => {
  const { tool } = await import('../../src/facades/tool.ts')
  const outcome = await smallKernel([tool, team]).call('tool', 'search', { query: 'whom to ask for help' })
  expect(outcome).toMatchObject({ ok: true, result: { tools: [{ name: 'team_find' }] } })
})
