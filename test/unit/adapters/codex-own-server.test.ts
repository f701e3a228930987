import { describe, expect, test } from 'vitest'
import { appServerArguments, appServerEnvironment } from '../../../adapters/codex/own-server.ts'
import { OWN_SERVER_PERSONA } from '../../../src/contracts/codex-environment.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { defangText } from '../../../src/modules/signals/defang.ts'

const settings = {
  ...{ identity: 'ada', home: '/h', node: '/node', bin: '/turnbell.js' },
  ...{ autostart: true, theirs: null, session_hook: 'echo hi' },
}

test('its hooks hear whose it is, whoever started the daemon', () => {
  const outer = { PATH: '/bin', TURNBELL_PERSONA: 'bob', [OWN_SERVER_PERSONA]: 'bob' }
  expect(appServerEnvironment(outer, settings)).toEqual({
    PATH: '/bin',
    TURNBELL_HOME: '/h',
    TURNBELL_PERSONA: 'ada',
    [OWN_SERVER_PERSONA]: 'ada',
  })
})

test('what an agent runs there does not, nor another Codex that it starts', () => {
  expect(appServerArguments('/run/codex.sock', settings)).toContain(
    `shell_environment_policy.set.${OWN_SERVER_PERSONA}=""`,
  )
})

test('its session hook is trusted by the hash that Codex 0.169.0 computes', () => {
  const words = appServerArguments('/run/codex.sock', settings)
  expect(words).toContain('hooks.SessionStart=[{hooks=[{type="command",command="echo hi",timeout=2}]}]')
  expect(words).toContain(
    'hooks.state={"/<session-flags>/config.toml:session_start:0:0"={trusted_hash="sha256:44cdd079a32a6ed4a89a05c5560bea2bbc5ccbc09dc651c27028f1685fc043d0"}}',
  )
})

describe('how much of an answer it shows', () => {
  const shown = (theirs: string | null) =>
    appServerArguments('/run/codex.sock', { ...settings, theirs }).filter((word) =>
      word.startsWith('tool_output_token_limit='),
    )

  test.each([
    ['there is no file', null],
    ['it says nothing of that', 'model = "m"\n'],
    ['it says so in another table', '[other]\ntool_output_token_limit = 500\n'],
    ['it only speaks of it', '# tool_output_token_limit = 500\n'],
    ['it cannot be read', 'tool_output_token_limit = = 500'],
  ])('is said where %s', (_, theirs) => {
    expect(shown(theirs)).toEqual(['tool_output_token_limit=32768'])
  })

  test.each([
    'tool_output_token_limit = 500\n',
    '\uFEFFmodel = "m"\n"tool_output_token_limit" = 500 # enough\n[other]\n',
    'huge = 9223372036854775807\ntool_output_token_limit = 500\n',
  ])('is what a person says of it: %j', (theirs) => {
    expect(shown(theirs)).toEqual([])
  })

  test('holds the largest signal, made harmless, with all that stands around it', () => {
    const tokens = Number(shown(null)[0]?.split('=')[1])
    const largest = defangText('<|a|>'.repeat(LIMITS.payload_bytes_max / 5))
    expect(Buffer.byteLength(largest) + 4_096).toBeLessThan(tokens * 4)
  })
})
