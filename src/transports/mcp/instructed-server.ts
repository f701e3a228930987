/** The SDK's server with instructions that depend on the client, for both protocol eras. */
import {
  Server,
  type Implementation,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server'

type Handler = (request: unknown, context: ServerContext) => unknown

/** Methods whose result contains the instructions. */
const INSTRUCTING: readonly string[] = ['initialize', 'server/discover']

export type InstructionsFor = (context: ServerContext) => Promise<string>

/**
 * `instructionsFor` returns the instructions for the client of a request. It is called once for each handshake, and must
 * not reject. If it is null, every client gets `options.instructions`; the SDK also needs them to include the field.
 */
export function instructedServer(
  info: Implementation,
  options: ServerOptions & { instructions: string },
  instructionsFor: InstructionsFor | null,
): Server {
  const server = new InstructedServer(info, options)
  server.instructionsFor = instructionsFor
  return server
}

class InstructedServer extends Server {
  // Declared without a value, because the constructor of the SDK calls the method below.
  declare instructionsFor: InstructionsFor | null

  /** The SDK also registers its own handlers here: in its constructor, and when it serves the modern era. */
  override setRequestHandler(method: string, handler: unknown, ...more: unknown[]): void {
    const instructed: Handler = async (request, context) => {
      const result = (await (handler as Handler)(request, context)) as object
      if (this.instructionsFor === null || !('instructions' in result)) return result
      return { ...result, instructions: await this.instructionsFor(context) }
    }
    const used = INSTRUCTING.includes(method) ? instructed : handler
    super.setRequestHandler(method as never, used as never, ...(more as []))
  }
}
