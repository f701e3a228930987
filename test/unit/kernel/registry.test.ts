/** Tests names: the actions that they resolve to, and the error for an unknown name. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { defineAction, defineFacade, type Action, type Facade } from '../../../src/kernel/define.ts'
import { nearest, toSnakeCase } from '../../../src/contracts/text/names.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'

const action = (aliases: Action['aliases'] = []): Action =>
  defineAction({
    summary: 'Does it.',
    mutates: true,
    aliases,
    input: z.strictObject({}),
    output: z.object({}),
    errors: [],
    allow: ['agent'],
    handle: () => ({}),
  })
const facade = (name: string, actions: Record<string, Action>): Facade =>
  defineFacade({ name, summary: 'A facade.', compact: 'A facade.', facet: 'core', actions })

const registry = createRegistry([...FACADES, facade('gardener', { plant_tree: action(['gardener_dig']) })])
const resolved = (name: string, of?: string) => {
  const found = registry.resolve(name, of)
  return `${found.facade.name}.${found.name}`
}
const refused = (name: string, of?: string): TurnbellError => {
  try {
    registry.resolve(name, of)
  } catch (error) {
    if (error instanceof TurnbellError) return error
  }
  throw new Error(`${name} resolves`)
}

describe('a name resolves', () => {
  test.each([
    ['signals', 'send', 'signals.send'],
    ['signals', 'replay', 'signals.replay'],
    ['Signals', 'Send', 'signals.send'],
    ['gardener', 'plantTree', 'gardener.plant_tree'],
    ['gardener', 'plant-tree', 'gardener.plant_tree'],
    ['coord', 'send', 'signals.send'],
  ])('a name resolves as facade and action: %s %s', (name, of, to) => expect(resolved(name, of)).toBe(to))

  test.each([
    ['signals_pending', 'signals.pending'],
    ['signalsPending', 'signals.pending'],
    ['gardener_plant_tree', 'gardener.plant_tree'],
    ['gardener_plantTree', 'gardener.plant_tree'],
    ['gardenerPlantTree', 'gardener.plant_tree'],
    ['prism_signal', 'signals.send'],
    ['prism_signals_pending', 'signals.pending'],
    ['prismSignalsPending', 'signals.pending'],
    ['coord_send', 'signals.send'],
    ['coord_inbox', 'signals.inbox'],
    ['coord_ack', 'signals.ack'],
    ['gardener_dig', 'gardener.plant_tree'],
    ['sentinel_createIssue', 'sentinel.create_issue'],
    ['sentinel_create_issue', 'sentinel.create_issue'],
    ['sentinel_listIssues', 'sentinel.list_issues'],
    ['sentinel_list_repo_issues', 'sentinel.list_issues'],
    ['sentinel_scan', 'sentinel.scan'],
    ['sentinel_scanData', 'sentinel.scan'],
    ['architect_record_arch_decision', 'architect.create_adr'],
    ['architect_createAdr', 'architect.create_adr'],
    ['architect_create_adr', 'architect.create_adr'],
  ])('a name resolves directly: %s', (name, to) => expect(resolved(name)).toBe(to))
})

describe('an unknown name', () => {
  test('an unknown action is rejected with the facade, its actions and the nearest name', () => {
    const error = refused('signals', 'sned')
    expect(error.code).toBe('action_unknown')
    expect(error.detail).toContain('signals has no action "sned"')
    expect(error.detail).toContain('pending, send, broadcast, inbox, ack, release, cancel, replay, read')
    expect(error.hint).toBe('Did you mean send?')
  })

  test('an unknown facade is rejected with the facades and the nearest name', () => {
    const error = refused('gardner', 'plant_tree')
    expect(error.code).toBe('facade_unknown')
    expect(error.detail).toContain([...FACADES.map(({ name }) => name), 'gardener'].join(', '))
    expect(error.hint).toBe('Did you mean gardener?')
  })

  test('a facade without an action is rejected with a request for one', () => {
    const error = refused('personas')
    expect(error.code).toBe('action_unknown')
    expect(error.detail).toBe('personas needs an action: add, list, get, wrap, remove.')
  })

  test('an unknown direct name is corrected in either half', () => {
    const action = refused('signals_pendign')
    expect(action).toMatchObject({ code: 'action_unknown', hint: 'Did you mean signals_pending?' })
    expect(action.detail).toContain('signals has no action "pendign". It has: pending, send, ')
    expect(refused('personsa_list').hint).toBe('Did you mean personas_list?')
  })

  test('suggestions contain no old name, and none for a very different name', () => {
    expect(refused('coord_sendd').hint).not.toContain('coord')
    expect(refused('weather').hint).toBe('List the facades with GET /facades.')
  })

  test('an unknown name may have any length and characters', () => {
    expect(refused('x'.repeat(100_000)).detail.length).toBeLessThan(400)
    expect(refused('A'.repeat(1_000_000)).detail.length).toBeLessThan(400)
    expect(refused('signals', 'A'.repeat(1_000_000)).detail.length).toBeLessThan(400)
    for (const name of ['', ' ', '__proto__', 'constructor', 'toString', '\u0000', '_', 'signals_']) {
      expect(['facade_unknown', 'action_unknown']).toContain(refused(name).code)
      expect(refused('signals', name).code).toBe('action_unknown')
    }
  })
})

describe('declarations are refused', () => {
  test('declarations are rejected if two facades have one name', () => {
    expect(() => createRegistry([facade('one', {}), facade('one', {})])).toThrow('two facades are called one')
  })

  test("declarations are rejected if an alias is another action's name in any spelling", () => {
    const one = facade('one', { go: action(['two_stop']) })
    expect(() => createRegistry([one, facade('two', { stop: action() })])).toThrow(
      'two_stop is claimed by two.stop and by one.go',
    )
    const camel = facade('one', { go: action(['twoStop']) })
    expect(() => createRegistry([camel, facade('two', { stop: action() })])).toThrow('claimed')
  })

  test('declarations are rejected if a facade has a current or old name of an action', () => {
    const one = facade('one', { go: action(['away']) })
    for (const name of ['one_go', 'away']) {
      expect(() => createRegistry([one, facade(name, {})])).toThrow(
        `the facade ${name} has the name of the action one.go`,
      )
    }
  })

  test('declarations are rejected if two actions have the same old name', () => {
    const both = facade('one', { go: action(['old']), stop: action(['old']) })
    expect(() => createRegistry([both])).toThrow('the name old is claimed by one.go and by one.stop')
  })

  test('declarations are rejected if facade and action names combine ambiguously', () => {
    expect(() =>
      createRegistry([facade('one', { two_three: action() }), facade('one_two', { three: action() })]),
    ).toThrow('claimed')
  })

  test.each(['One', 'one-two', '1one', 'one__two', 'one_', ''])(
    'declarations are rejected if a name is spelled %j',
    (name) => {
      expect(() => createRegistry([facade(name, {})])).toThrow('not a valid name')
      expect(() => createRegistry([facade('fine', { [name]: action() })])).toThrow('not a valid name')
    },
  )
})

describe('spelling', () => {
  test.each([
    ['replayAll', 'replay_all'],
    ['ReplayAll', 'replay_all'],
    ['replay-all', 'replay_all'],
    ['createADR', 'create_adr'],
    ['ADRCreate', 'adr_create'],
    ['gardener_plantTree', 'gardener_plant_tree'],
    ['already_snake', 'already_snake'],
  ])('the spelling %s is normalized to %s', (spelled, name) => expect(toSnakeCase(spelled)).toBe(name))

  test('the nearest name is within the maximum distance, or none is returned', () => {
    const names = ['send', 'inbox', 'broadcast']
    expect(nearest('snd', names)).toBe('send')
    expect(nearest('sedn', names)).toBe('send')
    expect(nearest('broad', names)).toBe('broadcast')
    expect(nearest('zzz', names)).toBeNull()
    expect(nearest('', names)).toBeNull()
  })
})
