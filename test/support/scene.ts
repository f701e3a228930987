/** What the scenes of every client share: a hub, a daemon, and a model that drains whenever a doorbell rings. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach } from 'vitest'
import type { ClientWorld, Service } from './client-world.ts'
import { figuresOf, turnsOf } from './conversation.ts'
import { eventually } from './eventually.ts'
import type { Reply, Shown } from './model-server.ts'

/** What the model calls the client's tools. */
export interface ClientTools {
  drain: string
  /** The call that runs a command of the shell. */
  shell: (command: string) => { name: string; input: object }
}

export const BELL = /\(bell [0-9a-z]{8}\)/

export interface SceneParts {
  hub: Service
  daemon: Service
  tools: ClientTools
  /** The model's answer that takes what waits. */
  drain: Reply
  /** The doorbells that the model was shown so far. */
  bells(): string[]
  /** The daemon has heard of that many waiting signals. */
  knows(pending_count: number): Promise<unknown>
  /** The main agent's first request whose news match. */
  asked(what: RegExp): Promise<Shown>
  /** A tool call that runs until the scene lets it end. */
  longTool(): { reply: Reply; end(): void }
}
export type Scene<World extends ClientWorld = ClientWorld> = World & SceneParts

/** To be called once in a file: every scene is closed after its test, and told of where it failed. */
export function scenesOf<World extends ClientWorld, Options extends unknown[]>(
  tools: ClientTools,
  openWorld: (...options: Options) => Promise<World>,
): (...options: Options) => Promise<Scene<World>> {
  const worlds: World[] = []
  afterEach(async (context) => {
    for (const world of worlds.splice(0)) {
      console.info(JSON.stringify({ scene: context.task.name, ...figuresOf(world) }))
      if (context.task.result?.state === 'fail') console.info(world.story())
      await world.close()
    }
  })
  return async (...options) => {
    const world = await openWorld(...options)
    worlds.push(world)
    const drain = { tools: [{ name: tools.drain, input: {} }] }
    world.model.always(BELL, drain)
    const hub = await world.startHub()
    const daemon = await world.startDaemon()
    return { ...world, ...partsOf(world, tools), drain, hub, daemon, tools }
  }
}

function partsOf(world: ClientWorld, { shell }: ClientTools) {
  return {
    bells: () => turnsOf(world.model).flatMap((turn) => turn.bells),
    knows: (pending_count: number) =>
      eventually(
        `the daemon knows of ${pending_count}`,
        async () => (await world.status()).pending_count === pending_count,
      ),
    asked: (what: RegExp) =>
      eventually(
        `the model is shown ${what}`,
        () => world.model.shown.find(({ role, fresh }) => role === 'main' && what.test(fresh)),
        60_000,
      ),
    longTool() {
      const go = path.join(world.project, 'go')
      const command = `while [ ! -e ${go} ]; do sleep 0.1; done; echo ran`
      return { reply: { tools: [shell(command)] }, end: () => fs.writeFileSync(go, '') }
    },
  }
}
