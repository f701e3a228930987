/**
 * A simulated Claude Code session for randomized runs: unread messages in its inbox, messages read and not shown, and
 * turns. At its prompt it may read a message late, and needs up to `SHOW_MS_MAX` to begin a turn with a read one. While
 * it works it reads at once; the message enters the turn after a tool call, which no hook reports, or begins the next
 * turn right after it.
 */
import { claudeSurface } from '../../../adapters/claude-code/claude-surface.ts'
import type { RegistryRecord } from '../../../adapters/claude-code/turn-events.ts'
import { deliveryPaths } from '../../../adapters/claude-code/delivery-paths.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Timer } from '../../../src/ports/clock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { PostOutcome } from '../../../src/ports/delivery-path.ts'
import type { ClientTruth, PlayedClient } from '../../suites/one-unseen-bell.suite.ts'
import { atRest } from './fake-clock.ts'
import { turnEvent } from '../turn-events.ts'
import { NO_MODULE } from './no-module.ts'

/** Below `claude_bell_lost_ms`. */
const SHOW_MS_MAX = 20_000
const REGISTRY_MS = 20

export async function playedClaude(truth: ClientTruth): Promise<PlayedClient> {
  const { clock, dice } = truth
  let busy = false
  let dialog = false
  /** A subagent is running: the registry does not show the prompt. */
  let background = false
  /** Suspended by Ctrl-Z. */
  let stopped = false
  let prompts = 0
  let inbox: 'there' | 'missing' | 'breaks' | 'deaf' = dice().chance(0.8) ? 'there' : 'missing'
  /** Whether a turn has run since the last message was posted. */
  let has_worked = false
  let unread: string[] = []
  const waiting: string[] = []
  let reading: Timer | null = null
  let showing: Timer | null = null

  const surface = claudeSurface({
    session_id: 'session-1',
    mod: NO_MODULE,
    clock,
    log: silentLog,
    degraded: silentLog,
    respawned: false,
    onInterrupted: async () => {},
    drainsReleased: async () => {},
    isStopped: () => stopped,
    paths: deliveryPaths(
      [
        { name: 'inbox', post: async (text) => postInbox(text), unread: () => unread.length > 0 },
        { name: 'pipe', post: async (text) => postPipe(text) },
      ],
      silentLog,
    ),
  })

  function postInbox(text: string): PostOutcome {
    if (inbox === 'missing') return 'unavailable'
    // An older unread connection is closed.
    unread = []
    has_worked = false
    truth.handed(truth.bellIn(text))
    if (inbox === 'breaks') {
      if (dice().chance(0.5)) waiting.push(text)
      else truth.lost(truth.bellIn(text), 'never there')
    } else unread.push(text)
    run()
    return inbox === 'breaks' ? 'failed' : 'sent'
  }

  function postPipe(text: string): PostOutcome {
    has_worked = false
    truth.handed(truth.bellIn(text))
    waiting.push(text)
    run()
    return 'sent'
  }

  /** The registry lags behind the hooks and shows the state at its writing. */
  const registryFollows = () => void clock.after(REGISTRY_MS, () => surface.registryRead({ status: shown() }))
  function shown(): RegistryRecord['status'] {
    if (dialog) return 'waiting'
    return busy || background ? 'busy' : 'idle'
  }
  const hook = (event: string, fields: object = {}) =>
    void surface.hookFired(turnEvent(event, { prompt_id: `prompt-${prompts}`, ...fields }))

  /** A suspended process neither reads nor shows anything. */
  function run(): void {
    if (stopped || busy || dialog) cancelShowing()
    if (stopped) {
      reading?.cancel()
      reading = null
      return
    }
    if (unread.length > 0 && inbox !== 'deaf') {
      if (has_worked || dice().chance(0.6)) return read()
      reading ??= clock.after(dice().between(10, 180_000), read)
    }
    if (waiting.length > 0 && !busy && !dialog)
      showing ??= clock.after(
        has_worked || dice().chance(0.4) ? 300 : dice().between(500, SHOW_MS_MAX),
        begin,
      )
  }

  function works(): void {
    cancelShowing()
    busy = true
    prompts += 1
    isAtWork()
  }

  /** A working client, or one with an open dialog, never reads the message. */
  function isAtWork(): void {
    has_worked = true
    if (inbox === 'deaf')
      unread.forEach((text) => truth.lost(truth.bellIn(text), 'not read by a client at work'))
    run()
  }

  function cancelShowing(): void {
    showing?.cancel()
    showing = null
  }

  function read(): void {
    reading = null
    if (unread.length === 0) return
    truth.note('the inbox is read')
    waiting.push(...unread.splice(0))
    run()
  }

  /** Shows the model all waiting messages. */
  function show(told: 'by a hook' | 'by nothing' = 'by a hook'): void {
    for (const prompt of waiting.splice(0)) {
      truth.seen(truth.bellIn(prompt))
      if (told === 'by a hook') hook('UserPromptSubmit', { prompt })
    }
  }

  function begin(): void {
    showing = null
    if (waiting.length === 0) return
    truth.note('its turn begins')
    works()
    show()
    registryFollows()
  }

  function beginOther(): void {
    if (busy || stopped || dialog) return
    works()
    hook('UserPromptSubmit', { prompt: 'hello' })
    registryFollows()
  }

  function tool(): void {
    if (!busy || stopped || dialog) return
    hook('PreToolUse', { tool_name: 'Bash' })
    show('by nothing')
    hook('PostToolUse', { tool_name: 'Bash' })
  }

  async function end(leaves_subagent = false): Promise<void> {
    if (!busy || stopped || dialog) return
    background = leaves_subagent
    const tasks = background ? JSON.stringify([{ type: 'subagent' }]) : ''
    let asked = 0
    /** The client abandons the hook before it is answered. */
    const given_up = dice().chance(0.1)
    const event = turnEvent('Stop', { prompt_id: `prompt-${prompts}`, background_tasks: tasks })
    const bell = await surface.stopped(event, () => given_up && asked++ > 0)
    if (bell !== null) {
      truth.handed(bell.doorbell_id)
      truth.seen(bell.doorbell_id)
      surface.continuedWith(bell)
      return
    }
    busy = false
    registryFollows()
    run()
  }

  function subagentEnds(): void {
    if (!background || stopped || dialog) return
    background = false
    registryFollows()
    // A finished subagent wakes an idle main agent.
    beginOther()
  }

  function interrupt(): void {
    if (!busy || stopped) return
    busy = dialog = false
    registryFollows()
    run()
  }

  function dialogIs(open: boolean): void {
    if (stopped || dialog === open) return
    dialog = open
    if (open && busy) hook('PermissionRequest')
    registryFollows()
    isAtWork()
  }

  function inboxIs(now: typeof inbox): void {
    if (inbox === now) return
    // A client that was not listening drops unread messages.
    if (inbox === 'deaf') unread.splice(0).forEach((text) => truth.lost(truth.bellIn(text), 'never read'))
    inbox = now
  }

  function stop(now: boolean): void {
    if (now === stopped) return
    stopped = now
    run()
  }

  surface.open(truth.host)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_registry_lag_ms)
  return {
    surface,
    steps: {
      'a person begins a turn': { weight: 4, play: beginOther },
      'a tool runs': { weight: 2, play: tool },
      'the turn ends': { weight: 7, play: () => end() },
      'the turn ends with a subagent at work': { weight: 1, play: () => end(true) },
      'the subagent ends': { weight: 1, play: subagentEnds },
      'a person interrupts': { weight: 1, play: interrupt },
      'a dialog opens': { weight: 1, play: () => dialogIs(true) },
      'the dialog closes': { weight: 2, play: () => dialogIs(false) },
      'the process is stopped': { weight: 1, play: () => stop(true) },
      'the process goes on': { weight: 3, play: () => stop(false) },
      'what was read is dropped': {
        weight: 1,
        play: () => waiting.splice(0).forEach((text) => truth.lost(truth.bellIn(text), 'dropped')),
      },
      'the inbox is there': { weight: 1, play: () => inboxIs('there') },
      'the inbox breaks': { weight: 1, play: () => inboxIs('breaks') },
      'the inbox is deaf': { weight: 0.5, play: () => inboxIs('deaf') },
    },
    async calm() {
      stop(false)
      dialogIs(false)
      subagentEnds()
      if (inbox === 'deaf') beginOther()
      inboxIs('there')
      await end()
      await atRest()
    },
    close() {
      reading?.cancel()
      showing?.cancel()
      surface.close()
    },
  }
}
