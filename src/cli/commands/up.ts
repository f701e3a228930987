/** `turnbell up`: runs hub and daemons in the foreground, each as its own process, with a live view. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { pause } from '../../ports/pause.ts'
import { prepareHome } from '../../system/config/home.ts'
import { returnIdleMemory } from '../../system/process/idle-memory.ts'
import { type Cli, type Invocation, invocationOf } from '../cli.ts'
import { count, examples } from '../render.ts'
import { startProcessGroup, type ProcessGroup } from '../up/process-group.ts'
import { createLaunch } from '../up/launch.ts'
import { changes } from '../up/lines.ts'
import { openScreen, type Screen } from '../up/screen.ts'
import { mayStop, stopRequest, type StopRequest } from '../up/stop-request.ts'
import { frame, type Snapshot } from '../up/view.ts'
import { createWatch, type Watch } from '../up/watch.ts'

const REFRESH_MS = 500
/** Number of refreshes between two looks for added or wrapped personas. */
const FOLLOW_EVERY = 4

export function registerUp(program: Command, cli: Cli): void {
  const command = program
    .command('up')
    .description('run the hub and every configured daemon in the foreground, with a live view')
    .addHelpText(
      'after',
      examples([
        ['turnbell up', 'Ctrl-C stops everything it started'],
        ['turnbell up | tee up.log', 'prints plain lines without a terminal'],
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
  const group = await startProcessGroup({
    invocation,
    launch: createLaunch(cli.node, cli.program, cli.env),
    onChange: ({ name, note }) => {
      if (!shown && note !== null) out.note(`${name}: ${note} (at ${invocation.hub().url})`)
    },
    stop_requested: stop.requested,
  })
  shown = true
  let show = showFor(cli, json)
  try {
    await Promise.race([group.settled(), stop.requested])
    if (!stop.isRequested()) await reportReady(invocation, group, show)
    returnIdleMemory()
    for (;;) {
      await keepShowing(invocation, group, show, stop)
      if (!stop.isRequested()) break
      show.close()
      if (await mayStop(invocation, ownDaemons(group), stop)) break
      stop.cancel()
      show = showFor(cli, json)
    }
  } finally {
    show.close()
    await stopFleet(invocation, group, stop)
  }
}

/** Returns the names of the daemons that this process started. */
const ownDaemons = (group: ProcessGroup) =>
  group.daemons().flatMap(({ name, ours, pid }) => (ours && pid !== null ? [name] : []))

const showFor = (cli: Cli, json: boolean): Show =>
  json ? linesTo(cli, cli.stderr) : isTerminal(cli) ? liveView(cli) : linesTo(cli, cli.stdout)

async function reportReady(
  { json, out, home, hub }: Invocation,
  group: ProcessGroup,
  show: Show,
): Promise<void> {
  const started = { home: home.root, hub: group.hub(), url: hub().url, personas: group.daemons() }
  if (json) await out.result(started, () => '')
  else show.remark(`turnbell up ready ${started.url} (${count(started.personas.length, 'daemon')})`)
}

interface Show {
  snapshot(snapshot: Snapshot): void
  remark(text: string): void
  close(): void
}

/** Returns when `up` is requested to stop, or after `turnbell down` has stopped everything. */
async function keepShowing(
  invocation: Invocation,
  group: ProcessGroup,
  show: Show,
  stop: StopRequest,
): Promise<void> {
  const watch: Watch = createWatch(invocation, group)
  for (let round = 1; !stop.isRequested(); round += 1) {
    // A request to stop does not wait for a hub that hangs.
    const snapshot = await Promise.race([watch.look(), stop.requested])
    if (snapshot === undefined) return
    show.snapshot(snapshot)
    if (group.isDown()) return
    if (round % FOLLOW_EVERY === 0) await Promise.race([followQuietly(group, show), stop.requested])
    await Promise.race([stop.requested, pause(invocation.cli.clock, REFRESH_MS)])
  }
}

/** Ignores an unreachable hub, and reports an invalid configuration, which may be in the middle of an edit. */
async function followQuietly(group: ProcessGroup, show: Show): Promise<void> {
  try {
    await group.follow()
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    if (error.code === 'config_invalid') show.remark(`configuration: ${error.detail}`)
  }
}

async function stopFleet({ cli, out }: Invocation, group: ProcessGroup, stop: StopRequest): Promise<void> {
  const was_down = group.isDown()
  const ours = ownDaemons(group)
  const hub = group.hub()
  const others = group.daemons().filter((view) => !view.ours && view.pid !== null)
  out.note(
    was_down
      ? 'the hub and all daemons were stopped elsewhere; `turnbell up` starts them again'
      : `stopping ${count(ours.length, 'daemon')}${hub.ours ? ', then the hub' : '; the hub was started elsewhere and keeps running'}`,
  )
  stop.onSecond(() => group.kill())
  const killed = await group.stop()
  stop.forget()
  if (was_down) return
  if (killed.length > 0) {
    out.note(`killed because they did not stop in time: ${killed.join(', ')}`)
    cli.exitWith(EXIT.failed)
  } else {
    const names = others.map(({ name }) => name).join(', ')
    out.note(others.length === 0 ? 'all stopped' : `stopped; started elsewhere and still running: ${names}`)
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
    // The frame already contains the content of remarks.
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
  let last_remark = ''
  const print = (line: string) =>
    void stream.write(`${new Date(cli.clock.now()).toISOString().slice(11, 23)} ${line}\n`)
  return {
    snapshot(snapshot) {
      for (const line of changes(last, snapshot)) print(line)
      last = snapshot
    },
    remark(text) {
      if (text !== last_remark) print(text)
      last_remark = text
    },
    close() {},
  }
}
