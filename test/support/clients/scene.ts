/** Shared parts of the scenes of all clients: a hub, a daemon, and a model that drains on every doorbell. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach } from 'vitest'
import type { ClientWorld, Service } from './client-world.ts'
import { figuresOf, turnsOf } from './conversation.ts'
import { eventually } from '../eventually.ts'
import type { Reply, Shown } from './model-server.ts'

/** The model's names for the client's tools. */
export interface ClientTools {
  drain: string
  /** The call that runs a shell command. */
  shell: (command: string) => { name: string; input: object }
}

export const BELL = /\(bell [0-9a-z]{8}\)/

export interface SceneParts {
  hub: Service
  daemon: Service
  tools: ClientTools
  /** The model's reply that drains. */
  drain: Reply
  /** Returns the doorbells shown to the model so far. */
  bells(): string[]
  /** Resolves when the daemon knows this number of waiting signals. */
  knows(pending_count: number): Promise<unknown>
  /** Resolves with the main agent's first request whose fresh text matches. */
  asked(what: RegExp): Promise<Shown>
  /** Returns a tool call that runs until the scene calls `end`. */
  longTool(): { reply: Reply; end(): void }
}
export type Scene<World extends ClientWorld = ClientWorld> = World & SceneParts

/** Call once per file: every scene is closed after its test, and a failed one prints its story. */
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
