import { beforeEach, describe, expect, test } from 'vitest'
import { Config } from '../../../src/contracts/config.ts'
import { TurnbellError } from '../../../src/contracts/errors.ts'
import { takeInAnew } from '../../../src/hub/follow-config.ts'
import { routineSettingsOf, warnOfUnknownSteps } from '../../../src/hub/routines.ts'
import { routineKernel, type RoutineKernel } from '../../support/routine-kernel.ts'

let world: RoutineKernel
let said: { level: string; fields: object }[]
const at = (level: string) => (fields: object) => void said.push({ level, fields })
const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
const takeIn = (config: object) => takeInAnew(world, () => Config.parse(config), log)
const routine = (step: string) => ({ steps: [{ step }] })

beforeEach(() => {
  world = routineKernel()
  said = []
})

describe('a configuration that has changed', () => {
  test('counts at once: facets, routines, the leash and commands', async () => {
    takeIn({
      mcp: { expose: ['core', 'work'] },
      routines: { nightly: routine('events') },
      leash: { exec: ['make'] },
      workflow: { ship: [['make']] },
    })
    expect(world.kernel.grants().facets).toEqual(['core', 'work'])
    expect(await world.call('routine', 'run', { name: 'nightly' })).toMatchObject({ ok: true })
    expect(world.routines.settings()).toMatchObject({
      leash: { exec: ['make'] },
      workflow: { ship: [['make']] },
    })
    takeIn({})
    expect((await world.refused('routine', 'run', { name: 'nightly' })).code).toBe('routine_unknown')
    expect(await world.call('routine', 'step', { step: 'exec', with: { argv: ['make'] } })).toMatchObject({
      steps: [{ problem: { code: 'leash_forbidden' } }],
    })
  })

  test('is told of when it says something else', () => {
    takeIn({})
    expect(said).toEqual([])
    takeIn({ leash: { exec: ['make'] } })
    expect(said).toMatchObject([{ level: 'info', fields: { leash: { exec: ['make'] } } }])
  })

  test('that cannot be read leaves what was', () => {
    takeIn({ leash: { exec: ['make'] } })
    const broken = () => {
      throw new TurnbellError('config_invalid', { detail: 'line 3' })
    }
    takeInAnew(world, broken, log)
    expect(said.at(-1)?.level).toBe('warn')
    expect(world.routines.settings().leash.exec).toEqual(['make'])
    expect(world.kernel.grants().facets).toEqual(['core'])
  })

  test('that cannot be read is told of by what would be answered otherwise, until it can be', async () => {
    const unread = 'The configuration was changed and cannot be read'
    const step = async () => {
      const { steps } = await world.call('routine', 'step', { step: 'exec', with: { argv: ['make'] } })
      return steps[0]?.problem?.hint
    }
    const answers = async () => [
      (await world.call<{ hint?: string }>('routine', 'list')).hint ?? '',
      (await world.refused('routine', 'run', { name: 'nightly' })).hint,
      (await step()) ?? '',
    ]
    const told = async () => (await answers()).map((hint) => hint.startsWith(unread))
    expect(await told()).toEqual([false, false, false])
    const broken = () => {
      throw new TurnbellError('config_invalid', { detail: 'line 3: SECRET' })
    }
    takeInAnew(world, broken, log)
    expect(await told()).toEqual([true, true, true])
    expect((await answers()).join()).not.toContain('SECRET')
    takeIn({})
    expect(await told()).toEqual([false, false, false])
  })

  test('with steps that nothing here can do is taken, with a warning', async () => {
    takeIn({ routines: { nightly: { steps: [{ step: 'deploy' }, { step: 'events' }] } } })
    expect(said.at(-1)).toEqual({ level: 'warn', fields: { key: 'routines.nightly', detail: 'deploy' } })
    expect(await world.call('routine', 'run', { name: 'nightly' })).toMatchObject({
      steps: [{ problem: { code: 'step_unknown' } }, { status: 'ok' }],
    })
    said = []
    warnOfUnknownSteps({ ...world.routines, settings: () => routineSettingsOf(Config.parse({})) }, log)
    expect(said).toEqual([])
  })
})
