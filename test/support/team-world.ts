/**
 * Several clients of one person at one hub, each with a persona and a scripted model of its own: what the
 * worlds of the single clients make, put together.
 */
import { openClientWorld, PERSONA, type ClientSpec, type ClientWorld } from './client-world.ts'
import { eventually } from './eventually.ts'
import type { ModelServer } from './model-server.ts'

export interface TeamWorld extends ClientWorld {
  modelOf(persona: string): ModelServer
  /** Nothing waits for anybody, and everybody stands at a prompt. */
  rests(): Promise<void>
}

/** Each at a port of its own, by the persona's name. */
export async function openTeamWorld(members: Record<string, ClientSpec>): Promise<TeamWorld> {
  const specs = Object.entries(members)
  const [[, first], ...others] = specs as [[string, ClientSpec], ...[string, ClientSpec][]]
  const world = await openClientWorld({
    ...first,
    config: {
      daemon: first.config.daemon ?? {},
      clients: Object.assign({}, ...specs.map(([, { config }]) => config.clients)) as object,
      personas: Object.fromEntries(
        specs.flatMap(([name, { config }]) => {
          const persona = config.personas?.[PERSONA]
          return persona === undefined ? [] : [[name, persona]]
        }),
      ),
    },
    env: Object.assign({}, ...specs.map(([, { env }]) => env)) as Record<string, string>,
    seed: (at) => Object.assign({}, ...specs.map(([, spec]) => spec.seed(at))) as Record<string, string>,
    others: others.map(([, { api, model_port }]) => ({ api, port: portOf(model_port) })),
  })
  const names = Object.keys(members)
  return {
    ...world,
    modelOf: (persona) => world.models[portOf(members[persona]?.model_port)]!,
    async rests() {
      await eventually(
        'nothing waits for anybody',
        async () => {
          const statuses = await Promise.all(names.map((name) => world.status(name)))
          return statuses.every(
            ({ pending_count, surface }) => pending_count === 0 && surface.turn === 'idle',
          )
        },
        60_000,
      )
    },
  }
}

function portOf(port: number | undefined): number {
  if (port === undefined) throw new Error('every member of a team needs a model_port of its own')
  return port
}
