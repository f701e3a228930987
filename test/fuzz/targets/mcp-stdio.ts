/** Fuzzes the client's input to the bridge on stdin, with a hub that answers everything. */
import { PassThrough } from 'node:stream'
import type { Upstream } from '../../../src/bridge/hub/upstream.ts'
import { createBridge } from '../../../src/bridge/bridge.ts'
import { StdioLines } from '../../../src/bridge/stdio/stdio-lines.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom } from '../../support/fakes/fake-clock.ts'
import { LEGACY, MODERN } from '../peers/mcp-messages.ts'
import { Broken, insist, type Target } from '../target.ts'
import { Heard } from '../peers/wire.ts'
import { outcomeOf } from './mcp-http.ts'

const PING = '{"jsonrpc":"2.0","id":"after-all","method":"ping"}'

const upstream: Upstream = {
  async request(method) {
    switch (method) {
      case 'tools/list':
        return { tools: [{ name: 'signals', inputSchema: { type: 'object' } }] }
      case 'tools/call':
        return { content: [{ type: 'text', text: '{}' }] }
      case 'resources/list':
        return { resources: [] }
      case 'resources/templates/list':
        return { resourceTemplates: [] }
      default:
        return { contents: [] }
    }
  },
  checkPersona: () => Promise.resolve(),
  callInProcess: () => null,
  listen: () => new Promise(() => undefined),
  teamView: () => Promise.reject(new Error('not read')),
  reportActivity: () => Promise.reject(new Error('not reported')),
  endSession: () => Promise.resolve(),
  close() {},
}

export const mcpStdio: Target = {
  name: 'mcp-stdio',
  promise: 'whatever lines come, each is answered or passed over, and the next one is heard',
  share: 3,

  open() {
    const clock = fakeClock()
    return {
      seeds: [
        LEGACY.slice(0, 8).join('\n'),
        ...LEGACY.slice(1).map((text) => `${LEGACY[0]}\n${LEGACY[1]}\n${text}`),
        MODERN.map(({ text }) => text).join('\n'),
        ...MODERN.map(({ text }) => text),
        `${LEGACY[0]}\n${MODERN[0]?.text}`,
      ],
      async attempt(input) {
        const bugs: unknown[] = []
        const [toBridge, toClient] = [new PassThrough(), new PassThrough()]
        const heard = new Heard(toClient)
        const quiet = () => {}
        createBridge({
          upstream,
          transport: new StdioLines(toBridge, toClient),
          session_id: () => 's',
          instructions: 'x',
          version: '0',
          clock,
          ids: createIds(clock, seededRandom()),
          log: { debug: quiet, info: quiet, warn: quiet, error: (fields) => void bugs.push(fields) },
        })
        toBridge.write(input)
        toBridge.write(`\n${PING}\n`)
        await heard.until(() => heard.all().includes('"after-all"'), 12)
        toBridge.end()
        const [bug] = bugs as { err?: Error }[]
        if (bug !== undefined) throw bug.err ?? new Broken(JSON.stringify(bug))
        const answers = heard.all().toString().split('\n').filter(Boolean)
        insist(heard.all().includes('"after-all"'), () => 'a ping afterwards was not answered')
        return [...new Set(answers.flatMap(outcomeOf))].sort().join(' ')
      },
    }
  },
}
