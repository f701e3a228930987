import { beforeEach, describe, expect, test } from 'vitest'
import { Config } from '../../../src/contracts/config.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { reloadConfig } from '../../../src/hub/config-reload.ts'
import { routineSettingsOf, warnOfUnknownSteps } from '../../../src/hub/routines.ts'
import { routineKernel, type RoutineKernel } from '../../support/worlds/routine-kernel.ts'

let world: RoutineKernel
let said: { level: string; fields: object }[]
const at = (level: string) => (fields: object) => void said.push({ level, fields })
const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
const takeIn = (config: object) => reloadConfig(world, () => Config.parse(config), log)
const routine = (step: string) => ({ steps: [{ step }] })

beforeEach(() => {
  world = routineKernel()
  said = []
})

describe('a changed configuration', () => {
  test('a changed configuration applies immediately: facets, routines, sandbox policy and commands', async () => {
    takeIn({
      mcp: { expose: ['core', 'work'] },
      routines: { nightly: routine('events') },
      sandbox: { exec: ['make'] },
      workflow: { ship: [['make']] },
    })
    expect(world.kernel.grants().facets).toEqual(['core', 'work'])
    expect(await world.call('routine', 'run', { name: 'nightly' })).toMatchObject({ ok: true })
    expect(world.routines.settings()).toMatchObject({
      sandbox: { exec: ['make'] },
      workflow: { ship: [['make']] },
    })
    takeIn({})
    expect((await world.refused('routine', 'run', { name: 'nightly' })).code).toBe('routine_unknown')
    expect(await world.call('routine', 'step', { step: 'exec', with: { argv: ['make'] } })).toMatchObject({
      steps: [{ problem: { code: 'leash_forbidden' } }],
    })
  })

  test('a changed configuration is logged only if its contents differ', () => {
    takeIn({})
    expect(said).toEqual([])
    takeIn({ sandbox: { exec: ['make'] } })
    expect(said).toMatchObject([{ level: 'info', fields: { sandbox: { exec: ['make'] } } }])
  })

  test('an invalid configuration leaves the previous one active', () => {
    takeIn({ sandbox: { exec: ['make'] } })
    const broken = () => {
      throw new TurnbellError('config_invalid', { detail: 'line 3' })
    }
    reloadConfig(world, broken, log)
    expect(said.at(-1)?.level).toBe('warn')
    expect(world.routines.settings().sandbox.exec).toEqual(['make'])
    expect(world.kernel.grants().facets).toEqual(['core'])
  })

  test('an invalid configuration is reported in affected answers until it is valid', async () => {
    const unread = 'The changed configuration cannot be read'
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
    reloadConfig(world, broken, log)
    expect(await told()).toEqual([true, true, true])
    expect((await answers()).join()).not.toContain('SECRET')
    takeIn({})
    expect(await told()).toEqual([false, false, false])
  })

  test('a configuration with unknown routine steps is accepted with a warning', async () => {
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
