/**
 * The module that runs inside Claude Code. The client reads this source before it runs it: `$` may only occur in calls
 * `$.noun.event()`, event and variable names must be literals, and each event has one hook for the same component.
 */
import { VERSION } from '../../../src/system/version.ts'
import type { On } from './engine.ts'
import { createMod } from './mod.ts'

export function register(on: On): void {
  const mod = createMod({ version: VERSION, now: () => Date.now() })

  on('session.start', ($, e, next) => {
    mod.start({
      interactive: e.isInteractive,
      cwd: e.cwd,
      variables: async () => ({
        HOME: await $.env.get('HOME'),
        TURNBELL_PERSONA: await $.env.get('TURNBELL_PERSONA'),
        TURNBELL_HOME: await $.env.get('TURNBELL_HOME'),
        TURNBELL_CONNECTED_PERSONA: await $.env.get('TURNBELL_CONNECTED_PERSONA'),
        TURNBELL_CONNECTED_HOME: await $.env.get('TURNBELL_CONNECTED_HOME'),
      }),
      clientPid: async () => (await $.process.hookEnv())['CLAUDE_PID'],
      clientVersion: async () => (await $.session.version()).version,
      sessionId: () => $.session.id(),
      conversation: () => $.session.messages({ as: 'api' }),
      read: (file) => $.fs.read(file),
      post: (socketPath, request, body) =>
        $.http.fetch(`http://turnbell/${request}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
          socketPath,
        }),
      submit: (text) => $.prompt.submit({ text }),
      after: (delay_ms, call) => $.clock.after(delay_ms, call),
      status: (text) => $.ui.status(text),
      toast: (text) => $.ui.toast(text),
      redraw: () => $.ui.invalidate('ui.render'),
      openTeam: () => $.ui.open({ id: 'team', title: 'turnbell', columns: 36 }),
    })
    return next(e)
  })
  on('ui.render', { component: 'AbovePrompt' }, async ($, e, next) => {
    return mod.screen.row($.ui.resolve(e)) ?? next(e)
  })
  on('ui.render', { component: 'Pane', requestId: 'team' }, async ($, e) => {
    return mod.screen.pane($.ui.resolve(e))
  })
  on('session.end', (_, e, next) => mod.turns.sessionEnded(e, next))
  on('session.stop', (_, e, next) => mod.turns.stopped(e, next))
  on('session.measure', (_, e, next) => mod.turns.measured(e, next))
  on('session.compact', (_, e, next) => mod.turns.compacted(e, next))
  on('prompt.submit', (_, e, next) => mod.turns.promptSubmitted(e, next))
  on('turn.start', (_, e, next) => mod.turns.turnStarted(e, next))
  on('turn.complete', (_, e, next) => mod.turns.turnCompleted(e, next))
  on('tool.call', (_, e, next) => mod.tools.toolCalled(e, next))
  on('tool.check', (_, e, next) => mod.tools.toolChecked(e, next))
  on('tool.run', (_, e, next) => mod.tools.toolRuns(e, next))
  on('agent.spawn', (_, e, next) => mod.tools.agentSpawned(e, next))
  on('agent.report', (_, e, next) => mod.tools.agentReported(e, next))
}
