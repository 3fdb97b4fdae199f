"""What langgraph.json names as `http.app`: the page and the API beside LangGraph's own server."""

from dotenv import load_dotenv

from thoughtcycle.web.app import create_app

load_dotenv(".env")

app = create_app()
