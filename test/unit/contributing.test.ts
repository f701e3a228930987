/** What CONTRIBUTING shows is what is run. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { smallKernel } from '../support/small-kernel.ts'
import { team } from '../fixtures/facade/team.ts'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string) => fs.readFileSync(path.join(root, file), 'utf8')
const shown = [...read('CONTRIBUTING.md').matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code)

test('the facade of the worked example is the one that is checked', () => {
  const facade = read('test/fixtures/facade/team.ts').replaceAll("'../../../src/", "'../")
  const its_test = read('test/fixtures/facade/team.test.ts').replace(
    "'./team.ts'",
    "'../../../src/facades/team.ts'",
  )
  expect(shown).toContain(facade)
  expect(shown).toContain(its_test)
})

test('its line stands in the file that lists them all', () => {
  const [line] = shown.filter((code) => code?.includes('FACADES'))
  expect(read('src/facades/all.ts')).toContain(line?.split(' = ')[0])
})

test('it is found by its words', async () => {
  const { tool } = await import('../../src/facades/tool.ts')
  const outcome = await smallKernel([tool, team]).call('tool', 'search', { query: 'whom to ask for help' })
  expect(outcome).toMatchObject({ ok: true, result: { tools: [{ name: 'team_find' }] } })
})
