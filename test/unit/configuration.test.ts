/** Tests that the configuration page matches the schema. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { Config, PersonaSettings } from '../../src/contracts/config.ts'
import { ENVIRONMENT_KEYS } from '../../src/system/config/config-layers.ts'

/** Rows of the tables on the page. */
const [keys = [], persona_keys = []] = fs
  .readFileSync(path.resolve(import.meta.dirname, '../../docs/reference/configuration.md'), 'utf8')
  .split('\n\n')
  .filter((block) => block.startsWith('| key'))
  .map((block) => block.split('\n').slice(2).map(cellsOf))

test('every key is on the page, with its default and its variable', () => {
  const documented = keys.flatMap(([names = '', value = '', variable = '']) =>
    names.split(' · ').map((key) => ({ key, value, variable })),
  )
  expect(documented).toEqual([...leaves(z.toJSONSchema(Config, { io: 'input' }))])
})

test('every key of a persona is on the page', () => {
  expect(persona_keys.map(([key]) => key).sort()).toEqual(Object.keys(PersonaSettings.shape).sort())
})

function cellsOf(row: string): string[] {
  return row
    .replaceAll('`', '')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

type Schema = z.core.JSONSchema.BaseSchema

function* leaves(schema: Schema, under: readonly string[] = []): Generator<Record<string, string>> {
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    const at = [...under, name]
    const one = below as Schema
    if (one.properties !== undefined) yield* leaves(one, at)
    else yield { key: at.join('.'), value: written(one.default), variable: variableOf(at.join('.')) }
  }
}

function written(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return `[${value.join(', ')}]`
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function variableOf(key: string): string {
  return Object.keys(ENVIRONMENT_KEYS).find((name) => ENVIRONMENT_KEYS[name]?.join('.') === key) ?? ''
}
