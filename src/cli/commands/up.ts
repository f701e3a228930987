/** `turnbell up`: hub and daemons in the foreground, each its own process, with a live view. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors.ts'
import { EXIT } from '../../contracts/exit-codes.ts'
import { pause } from '../../ports/pause.ts'
import { prepareHome } from '../../system/home.ts'
import { returnIdleMemory } from '../../system/idle-memory.ts'
import { type Cli, type Invocation, invocationOf } from '../cli.ts'
import { count, examples } from '../render.ts'
import { startFleet, type Fleet } from '../up/fleet.ts'
import { createLaunch } from '../up/launch.ts'
import { changes } from '../up/lines.ts'
import { openScreen, type Screen } from '../up/screen.ts'
import { mayStop, stopRequest, type StopRequest } from '../up/stop-request.ts'
import { frame, type Snapshot } from '../up/view.ts'
import { createWatch, type Watch } from '../up/watch.ts'

const LOOK_MS = 500
/** Every so many looks, personas that were added or wrapped meanwhile are taken in. */
const FOLLOW_EVERY = 4

export function registerUp(program: Command, cli: Cli): void {
  const command = program
    .command('up')
    .description('hub and every configured daemon in the foreground, with a live view')
    .addHelpText(
      'after',
      examples([
        ['turnbell up', 'Ctrl-C stops everything it started'],
        ['turnbell up | tee up.log', 'without a terminal: plain lines'],
      ]),
    )
  command.action(() => up(invocationOf(cli, command)))
}

async function up(invocation: Invocation): Promise<void> {
  const { cli, out, json, home } = invocation
  invocation.config()
  prepareHome(home)
  const stop = stopRequest(cli)
  let shown = false
  const fleet = await startFleet({
    invocation,
    launch: createLaunch(cli.node, cli.program, cli.env),
    onChange: ({ name, note }) => {
      if (!shown && note !== null) out.note(`${name}: ${note}; it is asked at ${invocation.hub().url}`)
    },
    asked: stop.asked,
  })
  shown = true
  let show = showFor(cli, json)
  try {
    await Promise.race([fleet.settled(), stop.asked])
    if (!stop.isAsked()) await sayReady(invocation, fleet, show)
    returnIdleMemory()
    for (;;) {
      await keepShowing(invocation, fleet, show, stop)
      if (!stop.isAsked()) break
      show.close()
      if (await mayStop(invocation, ownDaemons(fleet), stop)) break
      stop.goOn()
      show = showFor(cli, json)
    }
  } finally {
    show.close()
    await stopFleet(invocation, fleet, stop)
  }
}

/** Names of the daemons that were started here. */
const ownDaemons = (fleet: Fleet) =>
  fleet.daemons().flatMap(({ name, ours, pid }) => (ours && pid !== null ? [name] : []))

const showFor = (cli: Cli, json: boolean): Show =>
  json ? linesTo(cli, cli.stderr) : isTerminal(cli) ? liveView(cli) : linesTo(cli, cli.stdout)

async function sayReady({ json, out, home, hub }: Invocation, fleet: Fleet, show: Show): Promise<void> {
  const started = { home: home.root, hub: fleet.hub(), url: hub().url, personas: fleet.daemons() }
  if (json) await out.result(started, () => '')
  else show.remark(`turnbell up ready ${started.url} (${count(started.personas.length, 'daemon')})`)
}

interface Show {
  snapshot(snapshot: Snapshot): void
  remark(text: string): void
  close(): void
}

/** Ends when `up` is asked to stop, or after `turnbell down` has stopped everything. */
async function keepShowing(
  invocation: Invocation,
  fleet: Fleet,
  show: Show,
  stop: StopRequest,
): Promise<void> {
  const watch: Watch = createWatch(invocation, fleet)
  for (let look = 1; !stop.isAsked(); look += 1) {
    // A hub that hangs is waited for, but not by somebody who wants to leave.
    const seen = await Promise.race([watch.look(), stop.asked])
    if (seen === undefined) return
    show.snapshot(seen)
    if (fleet.isDown()) return
    if (look % FOLLOW_EVERY === 0) await Promise.race([followQuietly(fleet, show), stop.asked])
    await Promise.race([stop.asked, pause(invocation.cli.clock, LOOK_MS)])
  }
}

/** A hub that is away, or a configuration that is being edited, must not end what runs. */
async function followQuietly(fleet: Fleet, show: Show): Promise<void> {
  try {
    await fleet.follow()
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    if (error.code === 'config_invalid') show.remark(`configuration: ${error.detail}`)
  }
}

async function stopFleet({ cli, out }: Invocation, fleet: Fleet, stop: StopRequest): Promise<void> {
  const was_down = fleet.isDown()
  const ours = ownDaemons(fleet)
  const hub = fleet.hub()
  const left = fleet.daemons().filter((part) => !part.ours && part.pid !== null)
  out.note(
    was_down
      ? 'the hub and all daemons were stopped from elsewhere; `turnbell up` starts them again'
      : `stopping ${count(ours.length, 'daemon')}${hub.ours ? ', then the hub' : '; the hub was running before and goes on'}`,
  )
  stop.onSecond(() => fleet.kill())
  const killed = await fleet.stop()
  stop.forget()
  if (was_down) return
  if (killed.length > 0) {
    out.note(`did not stop in time and had to be killed: ${killed.join(', ')}`)
    cli.exitWith(EXIT.failed)
  } else {
    const names = left.map(({ name }) => name).join(', ')
    out.note(left.length === 0 ? 'all stopped' : `stopped; started elsewhere and still running: ${names}`)
  }
}

// --- terminals ------------------------------------------------------------------------------

const isTerminal = (cli: Cli) => cli.stdout.isTTY === true && cli.env['TERM'] !== 'dumb'

function liveView(cli: Cli): Show {
  const { stdout } = cli
  const screen: Screen = openScreen((text) => void stdout.write(text))
  let last: Snapshot | null = null
  let closed = false
  const draw = () => {
    if (last === null) return
    const size = { columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }
    screen.draw(frame(last, size, cli.colors))
  }
  const resized = () => {
    screen.forget()
    draw()
  }
  stdout.on('resize', resized)
  return {
    snapshot(snapshot) {
      last = snapshot
      draw()
    },
    // What a remark would say is in the frame anyway.
    remark() {},
    close() {
      if (closed) return
      closed = true
      stdout.off('resize', resized)
      screen.close()
    },
  }
}

function linesTo(cli: Cli, stream: NodeJS.WritableStream): Show {
  let last: Snapshot | null = null
  const say = (line: string) =>
    void stream.write(`${new Date(cli.clock.now()).toISOString().slice(11, 23)} ${line}\n`)
  let remarked = ''
  return {
    snapshot(snapshot) {
      for (const line of changes(last, snapshot)) say(line)
      last = snapshot
    },
    remark(text) {
      if (text !== remarked) say(text)
      remarked = text
    },
    close() {},
  }
}
