/** Fuzzes the frames that a hub, or an impostor, sends to a daemon. */
import { HubFrame } from '../../../src/contracts/frames.ts'
import { createHubLink } from '../../../src/daemon/link/hub-link.ts'
import { createTokenSource } from '../../../src/daemon/link/hub-token.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { fakeHub } from '../../support/fakes/fake-hub.ts'
import { linesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'
import { tick } from '../peers/wire.ts'

/** Prefix of a line that is a binary frame. */
const AS_BINARY = '\u0002'
/** The hub is reached through a system socket, which on a busy machine takes any number of ticks of the event loop. */
const ANSWER_MS_MAX = 30_000

export const hubFrames: Target = {
  name: 'hub-frames',
  promise: 'a daemon hands on only whole frames that are for it, keeps the link, and hears what comes next',
  share: 5,
  words: ['signal.pushed', 'welcome', 'error', 'lifecycle.shutdown'],

  async open() {
    const hub = await fakeHub()
    const clock = fakeClock()
    const about = { url: () => hub.url, identity: 'ada', session_id: '01J00000000000000000000000', clock }
    const tokens = createTokenSource({ ...about, operatorToken: () => 'operator-token' })
    const link = createHubLink({ ...about, surface: 'command', tokens, log: silentLog })
    let frames: HubFrame[] = []
    let [ups, downs] = [0, 0]
    const until = async (what: string, holds: () => boolean) => {
      const by = performance.now() + ANSWER_MS_MAX
      while (!holds()) {
        insist(performance.now() < by, () => `${what} did not come`)
        await tick()
      }
    }
    link.connect({
      onUp: () => (ups += 1),
      onFrame: (frame) => void frames.push(frame),
      onDown: () => (downs += 1),
    })
    await until('the welcome', () => ups > 0)
    return {
      seeds: linesOf(HubFrame, 120),
      lasts: 5_000,
      async attempt(input) {
        frames = []
        for (const line of input.toString().split('\n'))
          hub.sendText(line.startsWith(AS_BINARY) ? Buffer.from(line.slice(1)) : line)
        const { seq } = hub.push('ada')
        const isLast = (frame: HubFrame) => frame.type === 'signal.pushed' && frame.seq === seq
        await until('the frame afterwards', () => downs > 0 || frames.some(isLast))
        insist(downs === 0, () => 'the link went down')
        for (const frame of frames) {
          insist(HubFrame.safeParse(frame).success, () => `handed on: ${JSON.stringify(frame).slice(0, 200)}`)
          insist(
            frame.type !== 'signal.pushed' || frame.to === 'ada',
            () => "another persona's push was handed on",
          )
          insist(
            !('payload' in frame) || frame.type === 'result',
            () => 'a push with a payload was handed on',
          )
        }
        insist(ups === 1, () => 'a second welcome counted')
        return [...new Set(frames.map(({ type }) => type))].sort().join(' ')
      },
      async close() {
        link.close()
        await hub.close()
      },
    }
  },
}
