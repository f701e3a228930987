/**
 * A tiny model for sentences of a few hundred bytes, in the format in which such models are published: an ONNX network
 * that looks each token up in a table, and its vocabulary.
 */
import fs from 'node:fs'
import path from 'node:path'

/** Token number by position. Unknown words are read as `[UNK]`. */
const PIECES = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'login', 'password', 'cache', 'redis', '##s', '!']

/** Meaning of each token, so that related words have similar vectors. The first four have none. */
const TABLE = [
  ...[
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ],
  ...[
    [4, 0, 0],
    [3, 1, 0],
    [0, 0, 2],
    [0, 1, 2],
    [0, 0, 0],
    [0, 0, 0],
  ],
]

export function writeTinyModel(folder: string, output = 'last_hidden_state'): void {
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'model.onnx'), tinyNetwork(output))
  fs.writeFileSync(path.join(folder, 'tokenizer.json'), JSON.stringify(tinyTokenizer()))
}

export function tinyTokenizer() {
  return {
    truncation: { max_length: 8 },
    normalizer: { type: 'BertNormalizer', lowercase: true, strip_accents: null, handle_chinese_chars: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      vocab: Object.fromEntries(PIECES.map((piece, at) => [piece, at])),
    },
  }
}

/** Field numbers of the published onnx.proto. */
function tinyNetwork(output: string): Uint8Array {
  const table = Float32Array.from(TABLE.flat())
  const dims = [TABLE.length, TABLE[0]?.length ?? 0]
  const node = [text(1, 'table'), text(1, 'input_ids'), text(2, output), text(4, 'Gather')]
  const weights = [...dims.map((size) => number(1, size)), number(2, FLOAT), text(8, 'table')]
  const graph = [
    message(1, node),
    text(2, 'tiny'),
    message(5, [...weights, bytes(9, new Uint8Array(table.buffer))]),
    message(11, tensor('input_ids', INT64, ['batch', 'tokens'])),
    message(11, tensor('attention_mask', INT64, ['batch', 'tokens'])),
    message(12, tensor(output, FLOAT, ['batch', 'tokens', 'meaning'])),
  ]
  return Buffer.concat([number(1, IR_VERSION), message(7, graph), message(8, [number(2, OPSET)])])
}

const IR_VERSION = 8
const OPSET = 13
const FLOAT = 1
const INT64 = 7

function tensor(name: string, type: number, sizes: readonly string[]): Buffer[] {
  const shape = sizes.map((size) => message(1, [text(2, size)]))
  return [text(1, name), message(2, [message(1, [number(1, type), message(2, shape)])])]
}

function varint(value: number): Buffer {
  const low = value & 127
  return value < 128 ? Buffer.of(low) : Buffer.concat([Buffer.of(low | 128), varint(value >>> 7)])
}
function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)])
}
function bytes(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(value.length), value])
}
function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value))
}
function message(field: number, parts: readonly Buffer[]): Buffer {
  return bytes(field, Buffer.concat(parts))
}
