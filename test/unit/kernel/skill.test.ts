import { encode } from 'gpt-tokenizer'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { defineAction, defineFacade, type Action, type Facade } from '../../../src/kernel/define.ts'
import { projectInstructions } from '../../../src/kernel/projections/project-instructions.ts'
import { projectSkill } from '../../../src/kernel/projections/project-skill.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { Retry } from '../../../src/contracts/errors/errors.ts'

const TOKENS_MAX = 7_000
/** Maximum length of a skill's description in Claude Code. */
const DESCRIPTION_LENGTH_MAX = 1_024

const registry = createRegistry(FACADES)
const skill = projectSkill(registry)
const agentMay = ({ allow }: Action) => allow.includes('agent')

/** Returns the skill of one facade with one action. */
function skillOf(action: Partial<Action>, facade: Partial<Facade> = {}): string {
  const look = defineAction({
    summary: 'Looks.',
    mutates: false,
    input: z.strictObject({}),
    output: z.object({}),
    errors: [],
    allow: ['agent'],
    handle: () => ({}),
    ...action,
  })
  const garden = { name: 'garden', summary: 'Looks around.', compact: 'Looks.', facet: 'core' }
  return projectSkill(createRegistry([defineFacade({ ...garden, ...facade, actions: { look } })]))
}

describe('the skill for agents', () => {
  test('the skill fits its budget', () => expect(encode(skill).length).toBeLessThan(TOKENS_MAX))

  test('the skill begins with a name and when to use it', () => {
    const [, front = '', rest = ''] = /^---\n([^]*?)\n---\n([^]*)$/.exec(skill) ?? []
    const { name, description, ...more } = parse(front) as { name: string; description: string }
    expect(more).toEqual({})
    expect(name).toBe('turnbell')
    expect(description).toMatch(/Use it when .*\[turnbell\]/)
    expect(description.length).toBeLessThanOrEqual(DESCRIPTION_LENGTH_MAX)
    expect(description).not.toMatch(/[<>]/)
    expect(rest).toMatch(/^\n# turnbell\n/)
  })

  test('the skill contains the routine in the words of the instructions, once', () => {
    const agents = registry.facades.filter(({ actions }) => Object.values(actions).some(agentMay))
    expect(skill.split(projectInstructions(agents))).toHaveLength(2)
  })

  test('the skill has one line for every action that an agent may call, and no others', () => {
    for (const { facade, name, action } of registry.actions) {
      const section = new RegExp(`### ${facade.name}\n[^]*?(?=\n### |$)`).exec(skill)?.[0] ?? ''
      const called = action.own_tool === undefined ? name : `${facade.name}_${name}`
      const lines = section.split('\n').filter((line) => line.startsWith(`- \`${called}(`))
      expect(lines, called).toHaveLength(agentMay(action) ? 1 : 0)
    }
    expect(skill).not.toContain('### projects')
  })

  test('the skill has an example for every facade whose actions have one', () => {
    for (const facade of registry.facades) {
      const examples = Object.values(facade.actions)
        .filter(agentMay)
        .flatMap((action) => action.examples ?? [])
      if (examples.some((params) => Object.keys(params as object).length > 0))
        expect(skill).toMatch(
          new RegExp(`### ${facade.name}\n(?:(?!\n### )[^])*\nFor example \`${facade.name}`),
        )
    }
  })

  test('the skill explains what to do after each kind of error', () => {
    for (const retry of Retry.options) expect(skill).toContain(`\`${retry}\` (`)
    for (const member of ['code', 'detail', 'hint']) expect(skill).toContain(`\`${member}\``)
  })

  test('the skill marks unlisted actions, and explains how to call them', () => {
    for (const facade of registry.facades.filter(({ actions }) => Object.values(actions).some(agentMay))) {
      const words = new RegExp(`### ${facade.name}\n\n(.*)`).exec(skill)?.[1]
      expect(words?.includes('_Not listed._'), facade.name).toBe(facade.listed !== true)
    }
    for (const name of ['tool_search', 'tool_describe', 'tool_invoke']) {
      expect(() => registry.resolve(name)).not.toThrow()
      expect(skill).toContain(`\`${name}\``)
    }
  })

  test('the skill is reproducible', () => expect(projectSkill(createRegistry(FACADES))).toBe(skill))
})

describe('a line of the skill', () => {
  const eleven = z.strictObject(
    Object.fromEntries(
      'abcdefghijk'.split('').map((name) => [name, name === 'k' ? z.string() : z.number().optional()]),
    ),
  )

  test.each<[string, Partial<Action>, string]>([
    ['only looks', {}, '- `look()` _Reads_. Looks.'],
    ['changes', { mutates: true }, '- `look()` _Changes_. Looks.'],
    ['may be repeated', { mutates: true, idempotent: true }, '- `look()` _Repeatable_. Looks.'],
    ['takes away', { mutates: true, destructive: true }, '- `look()` _Changes_, for good. Looks.'],
    ['runs others', { mutates: true, delegates: true }, '- `look()` _As what it calls_. Looks.'],
    ['is a tool by itself', { own_tool: { description: 'Long.' } }, '- `garden_look()` _Reads_. Looks.'],
    [
      'has parameters',
      {
        input: z.strictObject({
          at: z.string(),
          deep: z.boolean().default(false),
          of: z.array(z.enum(['a', 'b'])),
        }),
      },
      '- `look(at: string, of: ("a"|"b")[], deep?: boolean = false)` _Reads_. Looks.',
    ],
    [
      'has many, of which the summary names some',
      { input: eleven, summary: 'Looks: {b?, k, d?: 1-9}. Twice.' },
      '- `look(k: string, b?: number, d?: number, …)` _Reads_. Looks. Twice.',
    ],
    [
      'has many and names none',
      { input: eleven },
      '- `look(k: string, a?: number, b?: number, c?: number, d?: number, e?: number, f?: number, g?: number, …)` _Reads_. Looks.',
    ],
  ])('the skill describes an action that %s', (_, action, line) =>
    expect(skillOf(action).split('\n')).toContain(line),
  )
})

describe('a facade in the skill', () => {
  test.each<[string, Partial<Facade>, string]>([
    ['is listed', { listed: true }, 'Looks around.'],
    ['is not listed', {}, 'Looks around. _Not listed._'],
    [
      'belongs to another facet',
      { listed: true, facet: 'outdoors' },
      'Looks around. Only where the facet `outdoors` is exposed.',
    ],
    ['is open in every facet', { listed: true, facet: 'outdoors', everywhere: true }, 'Looks around.'],
    [
      'is a pro facade',
      { listed: true, pro: true },
      'Looks around. Only where pro features are switched on.',
    ],
  ])('the skill describes a facade that %s', (_, facade, line) =>
    expect(skillOf({}, facade).split('\n')).toContain(line),
  )

  test('a facade that only the operator may call is not in the skill', () =>
    expect(skillOf({ allow: [] })).not.toContain('garden'))
})
