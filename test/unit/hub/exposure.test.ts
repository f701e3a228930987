import { beforeEach, describe, expect, test } from 'vitest'
import { Config } from '../../../src/contracts/config.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { applyExposure, grantsOf, warnOfUnknown } from '../../../src/hub/exposure.ts'
import { smallKernel, type SmallKernel } from '../../support/worlds/small-kernel.ts'

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
  test('an empty configuration exposes the core and nothing else', () => {
    expect(grantsOf(Config.parse({}))).toEqual({ facets: ['core'], pro: false, intents: {} })
  })

  test('a changed exposure applies immediately', () => {
    applyExposure(kernel, config({ expose: [], pro: true }), log)
    expect(kernel.grants()).toEqual({ facets: [], pro: true, intents: {} })
    expect(changes).toBe(1)
    expect(said).toEqual([{ level: 'info', detail: undefined }])
  })

  test('an unchanged exposure causes no notification', () => {
    applyExposure(kernel, config({}), log)
    expect([changes, said]).toEqual([0, []])
  })

  test('an exposure with unknown names is accepted with a warning', () => {
    applyExposure(
      kernel,
      config({ expose: ['core', 'wrok'], intents: { LOOK: ['personas', 'signal'] } }),
      log,
    )
    const warnings = said.filter(({ level }) => level === 'warn').map(({ detail }) => detail)
    expect(warnings).toEqual([expect.stringContaining('wrok; known facets: core'), 'signal'])
  })

  test('a valid exposure causes no warning', () => {
    warnOfUnknown(kernel, log)
    expect(said).toEqual([])
  })
})
