import { expect, test } from 'vitest'
import { appServerArguments, appServerEnvironment } from '../../../../adapters/codex/own-server.ts'
import { sessionHookArguments } from '../../../../adapters/codex/session-hook.ts'
import { OWN_SERVER_PERSONA } from '../../../../src/contracts/clients/codex.ts'

const settings = {
  ...{ identity: 'ada', home: '/h', node: '/node', bin: '/turnbell.js' },
  ...{ autostart: true, session_hook: 'echo hi' },
}

test("the app-server's environment names the persona, regardless of the daemon's environment", () => {
  const outer = { PATH: '/bin', TURNBELL_PERSONA: 'bob', [OWN_SERVER_PERSONA]: 'bob' }
  expect(appServerEnvironment(outer, settings)).toEqual({
    PATH: '/bin',
    TURNBELL_HOME: '/h',
    TURNBELL_PERSONA: 'ada',
    [OWN_SERVER_PERSONA]: 'ada',
  })
})

test('commands of an agent do not inherit the persona, nor does another Codex that they start', () => {
  expect(appServerArguments('/run/codex.sock', settings)).toContain(
    `shell_environment_policy.set.${OWN_SERVER_PERSONA}=""`,
  )
})

test('the session hook is trusted by the hash that Codex 0.169.0 computes', () => {
  const words = sessionHookArguments('echo hi', 2)
  expect(words).toContain('hooks.SessionStart=[{hooks=[{type="command",command="echo hi",timeout=2}]}]')
  expect(words).toContain(
    'hooks.state={"/<session-flags>/config.toml:session_start:0:0"={trusted_hash="sha256:44cdd079a32a6ed4a89a05c5560bea2bbc5ccbc09dc651c27028f1685fc043d0"}}',
  )
})

test("the client's limit on tool output is not changed", () => {
  const words = appServerArguments('/run/codex.sock', settings)
  expect(words.filter((word) => word.includes('tool_output_token_limit'))).toEqual([])
})
