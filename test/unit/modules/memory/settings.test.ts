import { expect, test } from 'vitest'
import { ProjectConfig } from '../../../../src/contracts/memory/project-config.ts'
import { FIRST_FILES } from '../../../../src/storage/file/project/project-layout.ts'
import { readSettings } from '../../../../src/modules/memory/settings.ts'

test('a project without settings has the defaults', () => {
  const { config, warnings } = readSettings(null)
  expect(warnings).toEqual([])
  expect(config).toEqual({
    version: 1,
    project_name: '',
    embedding_model: 'all-MiniLM-L6-v2',
    conflict_resolution: 'human',
    archive: {
      auto_archive_on_commit: true,
      auto_archive_on_context_switch: true,
      max_blackboard_entries_before_archive: 500,
    },
    context_assembly: {
      default_max_tokens: 4_000,
      priority_weights: {
        recency: 0.3,
        relevance: 0.4,
        decision_confidence: 0.2,
        warning_boost: 0.1,
        scope_proximity: 0.2,
        graph_connectivity: 0.1,
      },
      recency_half_life_days: 7,
    },
  })
  expect(readSettings('')).toEqual(readSettings(null))
})

test('the generated config.yml has the default values', () => {
  expect(readSettings(FIRST_FILES['config.yml'] ?? '')).toEqual(readSettings(null))
})

test('settings of the project apply, and unknown keys are ignored', () => {
  const { config, warnings } = readSettings(
    'project_name: shop\ntools:\n  mode: full\narchive:\n  auto_archive_on_commit: false\n',
  )
  expect(warnings).toEqual([])
  expect(config.project_name).toBe('shop')
  expect(config.archive).toEqual({ ...ProjectConfig.parse({}).archive, auto_archive_on_commit: false })
})

test('an invalid value is reported and treated as absent', () => {
  const { config, warnings } = readSettings(
    'project_name: shop\ncontext_assembly:\n  default_max_tokens: lots\n  recency_half_life_days: 3\n',
  )
  expect(config.project_name).toBe('shop')
  expect(config.context_assembly).toMatchObject({ default_max_tokens: 4_000, recency_half_life_days: 3 })
  expect(warnings).toEqual(['config.yml: context_assembly.default_max_tokens: expected number, found "lots"'])
})

test('a misspelled key is reported with the nearest known key', () => {
  const { config, warnings } = readSettings(
    'archive:\n  max_blackboard_entries_befor_archive: 30\ncontext_assembly:\n  priority_weights: { recencyy: 5 }\n',
  )
  expect(config).toEqual(readSettings(null).config)
  expect(warnings).toEqual([
    'config.yml: archive.max_blackboard_entries_befor_archive: unknown (did you mean max_blackboard_entries_before_archive?)',
    'config.yml: context_assembly.priority_weights.recencyy: unknown (did you mean recency?)',
  ])
})

test.each<[string, Parameters<typeof readSettings>[0], RegExp]>([
  ['invalid YAML', 'a: [', /not valid YAML/],
  ['a list', '- a\n', /config\.yml/],
  ['a deeply nested list', '['.repeat(8_000), /not valid YAML/],
  ['an unreadable file', { reason: 'it is larger than 9 bytes' }, /^config.yml is not read: it is larger/],
  ['a mapping where a number belongs', 'version: {}\n', /version/],
])('%s leaves the defaults and is reported', (_, text, told) => {
  const { config, warnings } = readSettings(text)
  expect(config).toEqual(readSettings(null).config)
  expect(warnings).toHaveLength(1)
  expect(warnings.join()).toMatch(told)
})
