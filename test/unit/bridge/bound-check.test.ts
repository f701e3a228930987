/** Tests that a misspelt limit of `turnbell mcp` is reported as soon as the hub provides the list of valid ones. */
import { expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { projectOpenApi } from '../../../src/kernel/projections/project-http.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { createBoundCheck, unknownNames } from '../../../src/bridge/bound-check.ts'

const plugin = { name: 'greeting', summary: 'Greets.', compact: 'Greets.', facet: 'greeter', actions: {} }
const DOCUMENT = projectOpenApi(createRegistry([...FACADES, plugin]), '1', [])
const NOTHING = { facades: [], facets: [] }

test.each([
  [{ facades: ['sentinal'] }, ['--facade sentinal: this hub has no such facade; did you mean sentinel?']],
  [{ facets: ['desing'] }, ['--facet desing: this hub has no such facet; did you mean design?']],
  [{ facets: ['greter'] }, ['--facet greter: this hub has no such facet; did you mean greeter?']],
  [{ facades: ['signals', 'greeting'], facets: ['core', 'greeter'] }, []],
])('the warnings for %j are as expected', (named, lines) => {
  expect(unknownNames({ ...NOTHING, ...named }, DOCUMENT)).toEqual(lines)
})

test('a warning lists all names if none is similar', () => {
  const [line] = unknownNames({ ...NOTHING, facets: ['zzzzzzzz'] }, DOCUMENT)
  expect(line).toMatch(/^--facet zzzzzzzz: .*; it has core, .*greeter$/)
})

test.each([null, 7, {}, { tags: 5 }, { tags: [{}] }])(
  'an invalid document causes no warnings: %j',
  (document) => {
    expect(unknownNames({ facades: ['x'], facets: ['y'] }, document)).toEqual([])
  },
)

test('a hub that lists no facets causes no warnings about facets', () => {
  expect(unknownNames({ facades: [], facets: ['nope'] }, { tags: [{ name: 'signals' }] })).toEqual([])
})

test('the check is repeated while the hub is away and not after it has succeeded', async () => {
  const warned: string[] = []
  let looks = 0
  const look = createBoundCheck({
    bounds: { facades: ['sentinal'], facets: [] },
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

test('the hub is not queried without bounds', () => {
  createBoundCheck({ bounds: NOTHING, read: () => expect.fail('asked'), warn: () => expect.fail('warned') })()
})
