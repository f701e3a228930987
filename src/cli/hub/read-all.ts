/** Reads stdin to its end, for commands that accept their content there. */
import { TurnbellError } from '../../contracts/errors/errors.ts'

/** Reads a stream to its end as text. Throws `usage_invalid` for more than `bytes_max` bytes. */
export async function readAll(stream: NodeJS.ReadableStream, bytes_max: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    size += bytes.length
    if (size > bytes_max) {
      throw new TurnbellError('usage_invalid', {
        detail: `stdin has more than ${bytes_max} bytes.`,
        hint: 'Write the content to a file and send its path.',
      })
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}
