import { beforeEach, describe, expect, test } from 'vitest'
import { Config } from '../../../src/contracts/config.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { exposeAnew, grantsOf, warnOfUnknown } from '../../../src/hub/exposure.ts'
import { smallKernel, type SmallKernel } from '../../support/small-kernel.ts'

let kernel: SmallKernel
let said: { level: string; detail: unknown }[]
let changes: number
const at = (level: string) => (fields: object) =>
  void said.push({ level, detail: (fields as { detail?: unknown }).detail })
const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
const config = (mcp: object) => Config.parse({ mcp })

beforeEach(() => {
  kernel = smallKernel(FACADES)
  said = []
  changes = 0
  kernel.changed(() => (changes += 1))
})

describe('the configuration', () => {
  test('offers the core and nothing else when it says nothing', () => {
    expect(grantsOf(Config.parse({}))).toEqual({ facets: ['core'], pro: false, intents: {} })
  })

  test('that has changed counts at once', () => {
    exposeAnew(kernel, config({ expose: [], pro: true }), log)
    expect(kernel.grants()).toEqual({ facets: [], pro: true, intents: {} })
    expect(changes).toBe(1)
    expect(said).toEqual([{ level: 'info', detail: undefined }])
  })

  test('that says the same is no news', () => {
    exposeAnew(kernel, config({}), log)
    expect([changes, said]).toEqual([0, []])
  })

  test('that names what is not there is taken, with a warning', () => {
    exposeAnew(kernel, config({ expose: ['core', 'wrok'], intents: { LOOK: ['personas', 'signal'] } }), log)
    const warnings = said.filter(({ level }) => level === 'warn').map(({ detail }) => detail)
    expect(warnings).toEqual([expect.stringContaining('wrok; there are core'), 'signal'])
  })

  test('that is whole says nothing', () => {
    warnOfUnknown(kernel, log)
    expect(said).toEqual([])
  })
})
