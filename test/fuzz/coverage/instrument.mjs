/**
 * Counts the edges that an input takes through the product: branches, loops and functions get a counter each, as with
 * libFuzzer's `-fsanitize-coverage=inline-8bit-counters` (https://clang.llvm.org/docs/SanitizerCoverage.html). V8's
 * precise coverage has the same data, but reading it after each input costs more than most inputs.
 */
import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

/** Returns an esbuild plugin. `count` returns the number of counters after the build. */
export function instrument(root, name) {
  let count = 0
  const rooms = [path.join(root, 'src') + path.sep, path.join(root, 'adapters') + path.sep]
  const plugin = {
    name: 'count-ways',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
        const text = fs.readFileSync(file, 'utf8')
        if (rooms.some((room) => file.startsWith(room)))
          return { contents: counted(text, file), loader: 'js' }
        // In a bundle, import.meta would refer to the bundle.
        return {
          contents: text.replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file))),
          loader: 'ts',
        }
      })
    },
  }
  return { plugin, count: () => count }

  function counted(text, file) {
    const { outputText } = ts.transpileModule(text, {
      fileName: file,
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        inlineSourceMap: true,
        inlineSources: true,
      },
      transformers: { before: [forks] },
    })
    return outputText
  }

  function forks(context) {
    const { factory } = context
    const hit = () =>
      factory.createPostfixIncrement(
        factory.createElementAccessExpression(factory.createIdentifier(name), count++),
      )
    const first = (statements) => [factory.createExpressionStatement(hit()), ...statements]
    const block = (statement) =>
      factory.createBlock(first(ts.isBlock(statement) ? statement.statements : [statement]), true)
    const value = (expression) =>
      factory.createParenthesizedExpression(
        factory.createComma(hit(), factory.createParenthesizedExpression(expression)),
      )

    const visit = (node) => {
      const seen = ts.visitEachChild(node, visit, context)
      if (ts.isIfStatement(seen)) {
        const otherwise = seen.elseStatement ?? factory.createBlock([])
        return factory.updateIfStatement(seen, seen.expression, block(seen.thenStatement), block(otherwise))
      }
      if (ts.isConditionalExpression(seen)) {
        return factory.updateConditionalExpression(
          ...[seen, seen.condition, seen.questionToken, value(seen.whenTrue), seen.colonToken],
          value(seen.whenFalse),
        )
      }
      if (ts.isBinaryExpression(seen) && isShort(seen.operatorToken.kind)) {
        return factory.updateBinaryExpression(seen, seen.left, seen.operatorToken, value(seen.right))
      }
      if (ts.isCaseClause(seen))
        return factory.updateCaseClause(seen, seen.expression, first(seen.statements))
      if (ts.isDefaultClause(seen)) return factory.updateDefaultClause(seen, first(seen.statements))
      if (ts.isCatchClause(seen)) {
        return factory.updateCatchClause(seen, seen.variableDeclaration, block(seen.block))
      }
      if (ts.isWhileStatement(seen)) {
        return factory.updateWhileStatement(seen, seen.expression, block(seen.statement))
      }
      if (ts.isForStatement(seen)) {
        return factory.updateForStatement(
          ...[seen, seen.initializer, seen.condition, seen.incrementor],
          block(seen.statement),
        )
      }
      if (ts.isForOfStatement(seen)) {
        return factory.updateForOfStatement(
          ...[seen, seen.awaitModifier, seen.initializer, seen.expression],
          block(seen.statement),
        )
      }
      if (ts.isArrowFunction(seen)) {
        const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken, body } = seen
        return factory.updateArrowFunction(
          ...[seen, modifiers, typeParameters, parameters, type, equalsGreaterThanToken],
          ts.isBlock(body) ? block(body) : value(body),
        )
      }
      if (ts.isFunctionDeclaration(seen) && seen.body) {
        const { modifiers, asteriskToken, name: named, typeParameters, parameters, type, body } = seen
        return factory.updateFunctionDeclaration(
          ...[seen, modifiers, asteriskToken, named, typeParameters, parameters, type],
          block(body),
        )
      }
      if (ts.isMethodDeclaration(seen) && seen.body) {
        const {
          modifiers,
          asteriskToken,
          name: named,
          questionToken,
          typeParameters,
          parameters,
          type,
        } = seen
        return factory.updateMethodDeclaration(
          ...[seen, modifiers, asteriskToken, named, questionToken, typeParameters, parameters, type],
          block(seen.body),
        )
      }
      return seen
    }
    return (file) => ts.visitEachChild(file, visit, context)
  }
}

function isShort(kind) {
  return [
    ts.SyntaxKind.AmpersandAmpersandToken,
    ts.SyntaxKind.BarBarToken,
    ts.SyntaxKind.QuestionQuestionToken,
  ].includes(kind)
}
