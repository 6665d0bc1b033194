"""A server of tools that speaks MCP over its standard input and output, made with the official SDK."""

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:  # before 2.0
    from mcp.server.fastmcp import FastMCP as Server

server = Server("sums")


@server.tool()
def add(first: int, second: int) -> int:
    """Adds two numbers."""
    return first + second


if __name__ == "__main__":
    server.run("stdio")
