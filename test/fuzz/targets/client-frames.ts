/** Fuzzes WebSocket frames of clients; each input has its own links to a whole hub. */
import { ClientFrame, CLOSE, HubFrame } from '../../../src/contracts/frames.ts'
import { hubWorld, type HubWorld } from '../peers/hub-world.ts'
import { linesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'
import { Heard } from '../peers/wire.ts'

const TEXT = 1
const BINARY = 2
const CLOSING = 8
const PING = 9

/** A hello in this name replaces its session, which is not an error. */
const BYSTANDER = 'nobody-says-hello-in-this-name'

/** Prefix of a line that is a binary frame, or of bytes that are not a frame at all. */
const AS_BINARY = 2
const AS_BYTES = 1

export const clientFrames: Target = {
  name: 'client-frames',
  promise:
    'a link that gets any frames answers with frames, error frames or a close; no other link hears of it',
  share: 6,
  words: [
    '@ada@',
    '@daemon@',
    '@observer@',
    '@operator@',
    'signals',
    'send',
    'pending',
    'ack',
    'to',
    'payload',
    'store',
    'put',
  ],

  async open() {
    const world = await hubWorld()
    await world.hub.hub.personas.add({ identity: BYSTANDER, surface: 'mcp' })
    const bystander = await linkTo(world, '@operator@')
    bystander.say({ type: 'hello', protocol: 1, kind: 'agent', identity: BYSTANDER, session_id: 'b' })
    await bystander.heard.until(() => false)
    const hello = '{"type":"hello","protocol":1,"kind":"agent","identity":"ada"}'
    const frames = linesOf(ClientFrame, 60)
    return {
      seeds: [
        ...frames.map((frame) =>
          frame.startsWith('{"type":"hello"') ? `@operator@\n${frame}` : `@operator@\n${hello}\n${frame}`,
        ),
        ...['@ada@', '@daemon@', '@observer@'].map(
          (token) =>
            `${token}\n${hello.replace('agent', token === '@ada@' ? 'agent' : token.slice(1, -1))}\n{"type":"ping"}`,
        ),
        `@ada@\n${hello}\n{"type":"call","id":1,"facade":"signals","action":"send","params":{"to":"bob","payload":1,"intent":"X"}}`,
        `@ada@\n${hello}\n{"type":"call","id":2,"facade":"signals","action":"pending","params":{"limit":1}}`,
        `@ada@\n${hello}\n{"type":"publish","id":3,"channel":"topics/x","event":"task.done","data":{}}\n{"type":"ack","message_id":"x"}`,
        `@daemon@\n${hello.replace('agent', 'daemon')}\n{"type":"heartbeat","seq":1}\n{"type":"pending.peek","id":"a","limit":5}`,
      ],
      broken_seeds: [
        `@ada@\n${hello}\n\u0002abc`,
        `@ada@\n${hello}\n\u0001\u0081\u0085\u0000\u0000\u0000\u0000hello`,
        '@ada@\n{"type":"ping"}',
      ],
      lasts: 1_500,
      async attempt(input) {
        const [token = '', ...lines] = input.toString('latin1').split('\n')
        const link = await linkTo(world, token)
        if (!link.open) return `refused ${link.status}`
        for (const line of lines) link.line(world.filled(line))
        await link.settled()
        const outcome = link.judge()
        link.stream.destroy()
        const before = bystander.heard.bytes
        bystander.ping()
        await bystander.heard.until(() => bystander.heard.bytes > before)
        insist(
          bystander.heard.bytes > before && !bystander.heard.ended,
          () => `another link does not answer any more: ${bystander.judge()}`,
        )
        world.sound()
        return outcome
      },
      async close() {
        bystander.stream.destroy()
        await world.close()
      },
    }
  },
}

async function linkTo(world: HubWorld, token: string) {
  const stream = world.dial()
  const heard = new Heard(stream)
  const bearer = world.filled(token).replaceAll(/[^\x21-\x7e]/g, '')
  stream.write(
    world.filled(
      `GET /ws HTTP/1.1\r\nHost: @host@\r\nAuthorization: Bearer ${bearer}\r\nUpgrade: websocket\r\n` +
        'Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    ),
  )
  await heard.until(() => heard.bytes > 0)
  const head = heard.all().toString('latin1')
  const status = head.slice(9, 12)
  const from = head.indexOf('\r\n\r\n') + 4
  const put = (opcode: number, body: Buffer) => {
    if (!stream.writableEnded) stream.write(Buffer.concat([headOf(opcode, body.length), body]))
  }
  return {
    ...{ stream, heard, status },
    open: status === '101',
    say: (frame: object) => put(TEXT, Buffer.from(JSON.stringify(frame))),
    ping: () => put(PING, Buffer.alloc(0)),
    line(line: string) {
      const bytes = Buffer.from(line, 'latin1')
      if (bytes[0] === AS_BINARY) put(BINARY, bytes.subarray(1))
      else if (bytes[0] !== AS_BYTES) put(TEXT, bytes)
      else if (!stream.writableEnded) stream.write(bytes.subarray(1))
    },
    /** Sends a protocol ping: its pong shows that everything before was answered. */
    async settled() {
      await heard.until(() => false, 8)
      put(PING, Buffer.from('end'))
      await heard.until(() => heard.all().subarray(from).includes('end'), 8)
    },
    judge: () => judged(framesIn(heard.all().subarray(from))),
  }
}

/** Masked with zeros, which leaves the payload unchanged. RFC 6455, section 5.2. */
function headOf(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 6 : length < 65_536 ? 8 : 14)
  head[0] = 0x80 | opcode
  if (length < 126) head[1] = 0x80 | length
  else if (length < 65_536) {
    head[1] = 0x80 | 126
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 0x80 | 127
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return head
}

function framesIn(bytes: Buffer): { opcode: number; body: Buffer }[] {
  const frames = []
  for (let at = 0; at + 2 <= bytes.length;) {
    const opcode = (bytes[at] as number) & 15
    let length = (bytes[at + 1] as number) & 127
    at += 2
    if (length === 126) {
      length = bytes.readUInt16BE(at)
      at += 2
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at))
      at += 8
    }
    frames.push({ opcode, body: bytes.subarray(at, at + length) })
    at += length
  }
  return frames
}

const CODES = new Set<number>([...Object.values(CLOSE), 1000, 1002, 1003, 1006, 1007, 1009])

function judged(frames: { opcode: number; body: Buffer }[]): string {
  const told: string[] = []
  for (const { opcode, body } of frames) {
    if (opcode === CLOSING) {
      const code = body.length >= 2 ? body.readUInt16BE() : 1005
      insist(code === 1005 || CODES.has(code), () => `closed with ${code}`)
      told.push(String(code))
    }
    if (opcode !== TEXT) continue
    const frame = HubFrame.safeParse(JSON.parse(body.toString()))
    insist(frame.success, () => `the hub said what is no frame: ${body.toString().slice(0, 300)}`)
    insist(
      frame.data.type !== 'error' || frame.data.code !== 'internal',
      () => 'an error frame says internal',
    )
    told.push(frame.data.type === 'error' ? frame.data.code : frame.data.type)
  }
  return [...new Set(told)].sort().join(' ')
}
