/** The plugin's agent: its tools, and that its text names existing actions. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { EntryType } from '../../../../src/contracts/memory/entry.ts'
import { FACADES } from '../../../../src/facades/all.ts'
import { createRegistry } from '../../../../src/kernel/registry.ts'
import { fieldsOf } from '../../../../src/kernel/fields.ts'
import { jsonSchema } from '../../../../src/kernel/schema.ts'

const PLUGIN = path.resolve(import.meta.dirname, '../../../../adapters/claude-code/plugin')
const [, head = '', body = ''] =
  /^---\n([^]*?)\n---\n([^]*)$/.exec(
    fs.readFileSync(path.join(PLUGIN, 'agents/turnbell-aware.md'), 'utf8'),
  ) ?? []
const registry = createRegistry(FACADES)

/** Every `facade action` in the text, with the parameters that follow it. */
const calls = [...body.matchAll(/`(\w+) (\w+)`(?: \{([^}]*)\})?/g)].map(
  ([, facade = '', action = '', params = '']) => ({
    ...{ facade, action },
    names: params.split(/[,;]/).flatMap((part) => /^\s*(\w+)\s*(?::|$)/.exec(part)?.[1] ?? []),
  }),
)

describe('the agent turnbell-aware', () => {
  test("has file tools and the plugin's memory tools", () => {
    const { name, description, tools } = parse(head) as Record<string, string>
    expect(name).toBe('turnbell-aware')
    expect(description).toContain('memory')
    const { name: plugin } = JSON.parse(
      fs.readFileSync(path.join(PLUGIN, '.claude-plugin/plugin.json'), 'utf8'),
    ) as { name: string }
    const [server] = Object.keys(
      (JSON.parse(fs.readFileSync(path.join(PLUGIN, '.mcp.json'), 'utf8')) as { mcpServers: object })
        .mcpServers,
    )
    expect(tools?.split(', ')).toEqual([
      ...['Read', 'Write', 'Edit', 'Bash'],
      ...['context', 'blackboard', 'decisions'].map((facade) => `mcp__plugin_${plugin}_${server}__${facade}`),
    ])
  })

  test('covers the actions before, during and after a task', () => {
    const named = calls.map(({ facade, action }) => `${facade} ${action}`)
    for (const call of [
      ...['context assemble', 'decisions why', 'blackboard query', 'blackboard post'],
      ...['decisions decide', 'decisions reconsider'],
    ])
      expect(named).toContain(call)
    for (const word of ['reason_rejected', 'relates_to', 'high, medium or low', 'provisional'])
      expect(body).toContain(word)
  })

  test.each(calls)(
    'names an action and parameters that agents may use: $facade $action',
    ({ facade, action, names }) => {
      const resolved = registry.resolve(facade, action)
      expect(resolved.action.allow).toContain('agent')
      const known = fieldsOf(jsonSchema(resolved.action.input, 'input')).map(({ name }) => name)
      for (const name of names) expect(known).toContain(name)
      expect(resolved.facade.listed).toBe(true)
    },
  )

  test('names existing entry types', () => {
    for (const [, type = ''] of body.matchAll(/entry_type: (\w+)/g)) expect(EntryType.options).toContain(type)
  })
})
