import { describe, expect, test } from 'vitest'
import { denyGlobs } from '../../../../src/modules/activity/deny-globs.ts'
import {
  commandWords,
  effectiveName,
  filePaths,
  toolType,
} from '../../../../src/modules/activity/tool-names.ts'

describe('globs of denied paths', () => {
  const cases: readonly (readonly [glob: string, path: string, denied: boolean])[] = [
    ['/home/ada/private', '/home/ada/private', true],
    ['/home/ada/private', '/home/ada/private/a/b.txt', true],
    ['/home/ada/private/**', '/home/ada/private', true],
    ['/home/ada/private', '/home/ada/private-not', false],
    ['/home/*/private', '/home/ada/private/x', true],
    ['/home/*/private', '/home/ada/work/private', false],
    ['**/.env', '/home/ada/.env', true],
    ['**/.env', '.env', true],
    ['**/.env', '/home/ada/x.env', false],
    ['.env', '/home/ada/project/.env', true],
    ['.env*', '/home/ada/project/.env.local', true],
    ['*.pem', 'keys/server.pem', true],
    ['secrets', '/a/secrets/b/c', true],
    ['/a/**/c', '/a/c', true],
    ['/a/**/c', '/a/b/b/c', true],
    ['*.{key,pem}', '/a/server.key', true],
    ['*.{key,pem}', '/a/server.crt', false],
    ['id_[re]*', '/root/.ssh/id_rsa', true],
    ['id_[!re]*', '/root/.ssh/id_rsa', false],
    ['file?', 'file1', true],
    ['file?', 'file', false],
    ['C:\\Work\\**', 'C:\\Work\\a.txt', true],
  ]
  test.each(cases)('%j and %j: %j', (glob, path, denied) => {
    expect(denyGlobs([glob]).deniesPath(path)).toBe(denied)
  })

  test('names of tools are matched whole', () => {
    const deny = denyGlobs(['mcp__bank__*', 'WebFetch'])
    expect(deny.deniesTool('mcp__bank__pay')).toBe(true)
    expect(deny.deniesTool('WebFetch')).toBe(true)
    expect(deny.deniesTool('WebFetchMore')).toBe(false)
  })

  test('a hostile glob is matched in bounded time', () => {
    const glob = `${'*a'.repeat(30)}b`
    expect(denyGlobs([glob]).deniesPath('a'.repeat(4_000))).toBe(false)
  })
})

describe('the names of tools', () => {
  test.each([
    ['Bash', 'claude-code', 'builtin'],
    ['Task', 'claude-code', 'agent'],
    ['Agent', 'claude-code', 'agent'],
    ['TaskUpdate', 'claude-code', 'agent'],
    ['Skill', 'claude-code', 'skill'],
    ['mcp__turnbell__signals', 'claude-code', 'mcp'],
    ['exec_command', 'codex', 'builtin'],
    ['apply_patch', 'codex', 'builtin'],
    ['spawn_agent', 'codex', 'agent'],
    ['turnbell.signals', 'codex', 'mcp'],
    ['task', 'opencode', 'agent'],
    ['read', 'opencode', 'builtin'],
    ['turnbell_signals', 'opencode', 'mcp'],
  ])('%s of %s is of type %s', (tool, client, type) => {
    expect(toolType(tool, client)).toBe(type)
  })

  test('a call of a skill or a subagent has its name', () => {
    expect(effectiveName('Skill', 'skill', { skill: 'review' })).toBe('review')
    expect(effectiveName('Agent', 'agent', { subagent_type: 'explorer', prompt: 'Go.' })).toBe('explorer')
    expect(effectiveName('Bash', 'builtin', { command: 'ls', name: 'x' })).toBe('Bash')
    expect(effectiveName('Agent', 'agent', undefined)).toBe('Agent')
  })

  test('files are found in well-known fields', () => {
    expect(filePaths({ file_path: '/a', path: '/b', paths: ['/a', '/c'], other: '/d' })).toEqual([
      '/a',
      '/b',
      '/c',
    ])
    expect(filePaths({ changes: { '/e': { type: 'add' } } })).toEqual(['/e'])
    expect(filePaths({ changes: [{ path: '/f' }] })).toEqual(['/f'])
    expect(filePaths({ files: Array.from({ length: 100 }, (_, index) => `/${index}`) })).toHaveLength(64)
    expect(filePaths('text')).toEqual([])
    expect(commandWords({ command: 'cat "a b" >/x/.env' })).toEqual(['cat', 'a', 'b', '/x/.env'])
  })
})
