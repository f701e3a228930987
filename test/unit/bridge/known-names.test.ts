/** A bound of `turnbell mcp` that is misspelt is told, as soon as the hub can say what there is. */
import { expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { projectOpenApi } from '../../../src/kernel/project-http.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { createNameCheck, unknownNames } from '../../../src/transports/bridge/known-names.ts'

const plugin = { name: 'greeting', summary: 'Greets.', compact: 'Greets.', facet: 'greeter', actions: {} }
const DOCUMENT = projectOpenApi(createRegistry([...FACADES, plugin]), '1', [])
const NOTHING = { facades: [], facets: [] }

test.each([
  [
    { facades: ['sentinal'] },
    ['--facade sentinal: this hub has no facade of that name; did you mean sentinel?'],
  ],
  [{ facets: ['desing'] }, ['--facet desing: this hub has no facet of that name; did you mean design?']],
  [{ facets: ['greter'] }, ['--facet greter: this hub has no facet of that name; did you mean greeter?']],
  [{ facades: ['signals', 'greeting'], facets: ['core', 'greeter'] }, []],
])('%j', (named, lines) => {
  expect(unknownNames({ ...NOTHING, ...named }, DOCUMENT)).toEqual(lines)
})

test('where nothing is near, all that there is is told', () => {
  const [line] = unknownNames({ ...NOTHING, facets: ['zzzzzzzz'] }, DOCUMENT)
  expect(line).toMatch(/^--facet zzzzzzzz: .*; it has core, .*greeter$/)
})

test.each([null, 7, {}, { tags: 5 }, { tags: [{}] }])(
  'a document that is none blames nobody: %j',
  (document) => {
    expect(unknownNames({ facades: ['x'], facets: ['y'] }, document)).toEqual([])
  },
)

test('a hub that does not tell its facets is not asked for them', () => {
  expect(unknownNames({ facades: [], facets: ['nope'] }, { tags: [{ name: 'signals' }] })).toEqual([])
})

test('looks again while the hub is away, and once it has answered never more', async () => {
  const warned: string[] = []
  let looks = 0
  const look = createNameCheck({
    named: { facades: ['sentinal'], facets: [] },
    read: () => (++looks === 1 ? Promise.reject(new Error('away')) : Promise.resolve(DOCUMENT)),
    warn: (line) => void warned.push(line),
  })
  for (let asked = 0; asked < 4; asked += 1) {
    look()
    await Promise.resolve().then(() => undefined)
  }
  expect(looks).toBe(2)
  expect(warned).toHaveLength(1)
})

test('without a bound the hub is not asked', () => {
  createNameCheck({ named: NOTHING, read: () => expect.fail('asked'), warn: () => expect.fail('warned') })()
})
